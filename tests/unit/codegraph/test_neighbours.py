import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.neighbours import Neighbours
from tests.support.corpora import make_corpus, row_named

LONG = "\n".join(f"        value_{number} = compute({number}, mode='strict', fallback=None)" for number in range(18))
FILES = {
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    shortest = 1\n\n"
        f"    def first(self):\n{LONG}\n        return 1\n\n"
        f"    def second(self):\n{LONG}\n        return round_up(2)\n\n"
        f"    def third(self):\n{LONG}\n        return self.first()\n"
    ),
    "shop/money.py": "def round_up(value):\n    return value\n\n\ndef exchange(value):\n    return value\n",
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_it():\n    assert round_up(1)\n",
    "tools/stray.py": "def stray():\n    return round_up(3)\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


@pytest.fixture(scope="module")
def neighbours(corpus):
    return Neighbours(corpus, CodeGraph(corpus))


def around(corpus, neighbours, name, relevance=lambda row: 0.0):
    return {
        (relation, corpus.value("qualified_name", row))
        for row, relation, confidence, _ in neighbours.of(row_named(corpus, name), relevance)
        if confidence >= 0.5
    }


def test_a_method_is_part_of_its_class_and_beside_its_neighbours(corpus, neighbours):
    found = around(corpus, neighbours, "Cart.second")
    assert ("contained_by", "Cart") in found
    assert {name for relation, name in found if relation == "sibling"} == {"Cart.first", "Cart.third"}


def test_a_class_contains_its_members(corpus, neighbours):
    found = around(corpus, neighbours, "Cart")
    assert {name for relation, name in found if relation == "contains"} == {"Cart.first", "Cart.second", "Cart.third"}


def test_a_chunk_is_next_to_what_it_calls(corpus, neighbours):
    assert ("callee", "round_up") in around(corpus, neighbours, "Cart.second")
    assert ("callee", "Cart.first") in around(corpus, neighbours, "Cart.third")


def test_a_chunk_is_next_to_its_callers_and_tests(corpus, neighbours):
    found = around(corpus, neighbours, "round_up")
    assert {("caller", "Cart.second"), ("test_for", "test_it")} <= found


def test_a_caller_that_nothing_binds_is_no_neighbour(corpus, neighbours):
    rows = {row for row, *_ in neighbours.of(row_named(corpus, "round_up"), lambda row: 0.0)}
    assert row_named(corpus, "stray") not in rows


def test_an_imported_file_is_represented_by_its_most_relevant_chunk(corpus, neighbours):
    exchange = row_named(corpus, "exchange")
    found = around(corpus, neighbours, "Cart.first", lambda row: float(row == exchange))
    assert ("imports", "exchange") in found


def test_importing_files_are_neighbours(corpus, neighbours):
    importing = {name for relation, name in around(corpus, neighbours, "exchange") if relation == "imported_by"}
    assert len(importing) == 2


def test_a_chunk_is_not_next_to_itself(corpus, neighbours):
    for row in range(corpus.n_chunks):
        assert row not in {near for near, *_ in neighbours.of(row, lambda other: 0.0)}
