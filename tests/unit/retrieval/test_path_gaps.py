"""Gaps between declarations that no known calls connect: where control or data goes on, and who takes over."""

import pytest

from coderag.retrieval.path_gaps import PathGapSearch
from tests.support.corpora import make_context

FILES = {
    "shop/server.py": (
        "class Server:\n"
        "    def handle_exit(self):\n"
        "        self.note()\n        self.should_exit = True\n\n"
        "    def note(self):\n        # self.close_all is not called here\n        print('stopping')\n\n"
        "    def serve(self):\n        while not self.should_exit:\n            self.tick()\n        self.close_all()\n\n"
        "    def tick(self):\n        return 1\n\n"
        "    def close_all(self):\n        return 2\n"
    ),
    "shop/queues.py": (
        "def produce(hub, item):\n    pack(hub, item)\n\n\n"
        "def pack(hub, item):\n    hub.orders.put(item)\n\n\n"
        "def consume(hub):\n    return hub.orders.get()\n\n\n"
        "def register(app):\n    app.on('paid', on_paid)\n\n\n"
        "def on_paid(order):\n    return order\n"
    ),
    "shop/pipes.go": (
        "package shop\n\ntype Pipe struct{ mch chan int }\n\n"
        "func (p *Pipe) Feed(n int) {\n\tp.mch <- n\n}\n\n"
        "func (p *Pipe) Next() int {\n\treturn <-p.mch\n}\n"
    ),
}


@pytest.fixture(scope="module")
def shop():
    context = make_context(FILES)
    return PathGapSearch(context.graph, context.corpus.snapshot)


def _describe(gap):
    handoff = gap.handoffs[0]
    return handoff.kind, handoff.symbol, handoff.line, handoff.shared, handoff.other_line


def test_a_field_that_one_side_sets_and_the_other_reads_joins_both(shop):
    gap = shop.find("Server.handle_exit", "Server.close_all")
    assert _describe(gap) == ("field", "Server.handle_exit", 4, "should_exit", 11)
    assert [step.qualified_name for step in gap.last] == ["Server.note"]
    assert [caller.qualified_name for caller in gap.callers] == ["Server.serve"]


def test_a_queue_that_both_sides_use_is_found_below_the_start(shop):
    gap = shop.find("produce", "consume")
    assert _describe(gap) == ("queue or channel", "pack", 6, "orders", 10)
    assert not gap.callers


def test_a_channel_of_go_joins_both_sides(shop):
    assert _describe(shop.find("Pipe.Feed", "Pipe.Next"))[:4] == ("queue or channel", "Pipe.Feed", 6, "mch")


def test_a_function_that_is_passed_on_is_named_as_a_value(shop):
    handoff = shop.find("register", "on_paid").handoffs[0]
    assert (handoff.kind, handoff.line, handoff.shared) == ("value", 14, "on_paid")


def test_comments_hand_nothing_over(shop):
    assert all("#" not in handoff.text for handoff in shop.find("Server.note", "Server.close_all").handoffs)


def test_the_way_back_is_known_where_it_is_called_the_other_way_round(shop):
    gap = shop.find("Server.tick", "Server.serve")
    assert [step.qualified_name for step in gap.backwards] == ["Server.tick"]
    assert gap.reached_count == 0


def test_declarations_without_any_link_have_no_shared_name(shop):
    assert not any(handoff.shared for handoff in shop.find("Server.tick", "consume").handoffs)
