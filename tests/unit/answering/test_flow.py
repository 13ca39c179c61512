import re

import pytest

from coderag.answering.evidence.call_flow import Flow, FlowStep, draw_mermaid, format_mermaid
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import Declared
from tests.support.corpora import make_context
from tests.support.extracted import FILES, cited, extracted, places, state_of

NODE = re.compile(r'^    n(\d+)\["([^"\]\[`{}<>|]*)<br/>([^"\]\[`{}<>|]*)"\]$')


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def drawn(context, query):
    return draw_mermaid(context, state_of(context, query))


def test_first_sentence_names_the_whole_way_between_two_names(shop):
    answer = extracted(shop, "how does check_out reach check_card")
    assert answer.lead.startswith("**`check_out` → `Cart.pay` → `charge` → `check_card`**: 3 calls")
    assert "`charge` calls `check_card` (`shop/cart.py:31`) in `shop/cart.py:27`: `check_card(card)`" in answer.text


def test_every_place_of_a_flow_is_cited(shop):
    answer = extracted(shop, "how does check_out reach check_card")
    assert places(answer) == cited(answer)


def test_calls_in_the_other_direction_are_no_answer_to_the_question(shop):
    answer = extracted(shop, "how does round_up reach check_out")
    assert answer.missing == ["No known calls lead from `round_up` to `check_out`."]
    assert "`check_out`" in answer.lead.split("→")[0]


def test_unconnected_ends_are_reported(shop):
    answer = extracted(shop, "how does unused_rate get to charge")
    assert "No known calls lead from `unused_rate` to `charge`." in answer.text
    assert answer.missing


def test_a_gap_between_named_ends_says_where_it_may_go_on():
    files = {
        "shop/server.py": (
            "class Server:\n    def handle_exit(self):\n        self.should_exit = True\n\n"
            "    def serve(self):\n        while not self.should_exit:\n            self.tick()\n        self.close_all()\n\n"
            "    def tick(self):\n        return 1\n\n    def close_all(self):\n        return 2\n"
        )
    }
    answer = extracted(make_context(files), "how does Server.handle_exit reach Server.close_all?")
    assert "No known calls lead from `Server.handle_exit` to `Server.close_all`." in answer.text
    assert "From `Server.handle_exit` it may go on by a field: `self.should_exit = True`" in answer.text
    assert "`should_exit` is also in `shop/server.py:6`" in answer.text
    assert places(answer) == cited(answer)


def test_flow_is_deterministic(shop):
    query = "what happens when items are sold"
    assert drawn(shop, query) == drawn(make_context(FILES), query)


def test_possible_override_is_only_a_possible_call():
    source = (
        "class Base:\n    def run(self):\n        pass\n\n\nclass Child(Base):\n    def run(self):\n        finish()\n\n\n"
        "def finish():\n    pass\n\n\ndef start(base: Base):\n    base.run()\n"
    )
    context = make_context({"a.py": source})
    text = extracted(context, "how does start() reach finish()").text
    assert "`start` may call `Child.run` (`a.py:7`) in `a.py:16`: `base.run()`" in text


def test_table_of_functions_joins_what_walks_it_with_what_it_lists():
    source = (
        "def load(state):\n    return read_rows(state)\n\n\ndef read_rows(state):\n    return state['rows']\n\n\n"
        "def save(state):\n    return state\n\n\nSTEPS = {'load': load, 'save': save}\n\n\n"
        "def walk(state):\n    for name in state:\n        state = STEPS[name](state)\n    return state\n\n\n"
        "def run_job(rows):\n    return walk({'rows': rows})\n"
    )
    text = extracted(make_context({"job.py": source}), "how does run_job() reach read_rows()").text
    assert text.startswith("**`run_job` → `walk` → `STEPS` → `load` → `read_rows`**: 4 steps")
    assert "`walk` uses `STEPS` (`job.py:13`) in `job.py:18`" in text


def test_code_without_calls_is_explained_instead():
    text = extracted(make_context({"a.py": "def request():\n    return 1\n"}), "what happens when a request comes").text
    assert "Step by step" not in text
    assert "`request`" in text


def test_number_of_declarations_is_bounded():
    helpers = "".join(
        f"def step_{number}():\n    step_{number + 1}()\n    other_{number}()\n\n\n" for number in range(40)
    )
    remaining = "".join(f"def other_{number}():\n    pass\n\n\n" for number in range(40))
    source = f"{helpers}def step_40():\n    pass\n\n\n{remaining}"
    chart = drawn(make_context({"a.py": source}), "what happens when step_0 runs")
    assert 2 < chart.count("<br/>") <= 10


NAMES = [
    "operator<<", "a|b", 'say "hi"', "it's`", "x; y --> z", "end", "graph TD", "$$x$$", "\\n", "#35;", "{a}[b](c)", "<b>",
    "%% comment", "名前", "line\nbreak", "]",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_cannot_leave_their_boxes(name):
    declaration, other = (Declared(number, f"src/{name}.py", 1, 2, name, "function", "source") for number in (1, 2))
    chart = format_mermaid(Flow([declaration, other], [FlowStep(0, 1, CitedLines("a.py", 7, 7, "x"), is_certain=True)]))
    first, *nodes, edge = chart.split("\n")
    assert first == "flowchart TD"
    assert len(nodes) == 2
    assert all(NODE.match(re.sub(r"#\d+;", "", node)) for node in nodes)
    assert edge == '    n0 -->|"1: line 7"| n1'
