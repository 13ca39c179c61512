import numpy as np
import pytest

from coderag.codegraph.chunk_neighbours import ChunkNeighbours
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.stores.graph_tables import build_empty_graph
from tests.support.corpora import make_corpus, row_named
from tests.support.graph_tables import tables_of

LONG = "\n".join(f"        value_{number} = compute({number}, mode='strict', fallback=None)" for number in range(18))
VERY_LONG = "\n".join(f"    value_{number} = compute({number}, mode='strict', fallback=None)" for number in range(400))
FILES = {
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    shortest = 1\n\n"
        f"    def first(self):\n{LONG}\n        return 1\n\n"
        f"    def second(self):\n{LONG}\n        return round_up(2)\n\n"
        f"    def third(self):\n{LONG}\n        return self.first()\n\n\n"
        "class GiftCart(Cart):\n    def first(self):\n        return 2\n"
    ),
    "shop/money.py": "def round_up(value):\n    return value\n\n\ndef exchange(value):\n    return value\n",
    "shop/script.py": f"def main():\n{VERY_LONG}\n    round_up(1)\n\n\nmain()\n",
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_it():\n    assert round_up(1)\n",
    "tools/stray.py": "def stray():\n    return round_up(3)\n",
}
EDGES = [
    ("shop/cart.py", "imports", "shop/money.py", 1),
    ("Cart.second", "calls", "round_up", 47),
    ("Cart.third", "calls", "Cart.first", 68, 0.95),
    ("GiftCart", "inherits", "Cart", 71),
    ("GiftCart.first", "overrides", "Cart.first", 72),
    ("main", "calls", "round_up", 402),
    ("shop/script.py", "calls", "main", 405),
    ("tests/test_money.py", "imports", "shop/money.py", 1),
    ("test_it", "calls", "round_up", 5),
    ("test_it", "tests", "round_up", 5),
    ("stray", "calls", "round_up", 2, 0.3),
    ("stray", "calls", "math", 2),
]


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


@pytest.fixture(scope="module")
def neighbours(corpus):
    return ChunkNeighbours(corpus, CodeGraph(SymbolGraph(tables_of(corpus, EDGES, ["math"]))))


def find_neighbours(corpus, neighbours, row, relevance=None):
    row = row_named(corpus, row) if isinstance(row, str) else row
    best_rows = corpus.file_starts if relevance is None else corpus.find_best_rows(relevance)
    return {
        (relation, corpus.get_value("qualified_name", neighbour_row))
        for neighbour_row, relation, _, _ in neighbours.find(row, best_rows)
    }


def test_method_has_its_class_and_siblings_as_neighbours(corpus, neighbours):
    rows = find_neighbours(corpus, neighbours, "Cart.second")
    assert ("contained_by", "Cart") in rows
    assert {name for relation, name in rows if relation == "sibling"} == {"Cart.first", "Cart.third"}
    first = find_neighbours(corpus, neighbours, "Cart.first")
    assert {name for relation, name in first if relation == "sibling"} == {"Cart.second"}


def test_class_contains_its_members(corpus, neighbours):
    rows = find_neighbours(corpus, neighbours, "Cart")
    assert {name for relation, name in rows if relation == "contains"} == {"Cart.first", "Cart.second", "Cart.third"}


def test_callees_are_neighbours(corpus, neighbours):
    assert ("callee", "round_up") in find_neighbours(corpus, neighbours, "Cart.second")
    assert ("callee", "Cart.first") in find_neighbours(corpus, neighbours, "Cart.third")


def test_neighbour_has_confidence_and_evidence_line(corpus, neighbours):
    evidence = {
        (relation, row): rest
        for row, relation, *rest in neighbours.find(row_named(corpus, "Cart.third"), corpus.file_starts)
    }
    assert evidence["callee", row_named(corpus, "Cart.first")] == [0.95, 68]
    assert evidence["contained_by", row_named(corpus, "Cart")] == [1.0, 0]


def test_callers_and_tests_are_neighbours(corpus, neighbours):
    rows = find_neighbours(corpus, neighbours, "round_up")
    assert {("caller", "Cart.second"), ("test_for", "test_it"), ("caller", "main")} <= rows
    assert ("caller", "test_it") not in rows


def test_only_the_calling_chunk_of_a_function_neighbours_the_callee(corpus, neighbours):
    parts = [row for row, name in enumerate(corpus.get_column("qualified_name")) if name == "main"]
    assert len(parts) > 1
    assert ("callee", "round_up") in find_neighbours(corpus, neighbours, parts[-1])
    assert ("callee", "round_up") not in find_neighbours(corpus, neighbours, parts[0])
    assert ("contained_by", "main") in find_neighbours(corpus, neighbours, parts[-1])
    calling = [
        row for row, relation, *_ in neighbours.find(row_named(corpus, "round_up"), corpus.file_starts) if row in parts
    ]
    assert calling == parts[-1:]


def test_bases_and_derived_types_are_neighbours(corpus, neighbours):
    assert ("derived", "GiftCart") in find_neighbours(corpus, neighbours, "Cart")
    assert ("base", "Cart") in find_neighbours(corpus, neighbours, "GiftCart")
    assert ("derived", "GiftCart") in find_neighbours(corpus, neighbours, "Cart.first")


def test_candidate_edges_give_no_neighbour(corpus, neighbours):
    rows = {row for row, *_ in neighbours.find(row_named(corpus, "round_up"), corpus.file_starts)}
    assert row_named(corpus, "stray") not in rows


def test_imported_file_is_represented_by_its_best_chunk(corpus, neighbours):
    exchange = row_named(corpus, "exchange")
    rows = find_neighbours(corpus, neighbours, "Cart.first", np.arange(corpus.n_chunks) == exchange)
    assert ("imports", "exchange") in rows


def test_importing_files_are_neighbours(corpus, neighbours):
    importing = {
        name for relation, name in find_neighbours(corpus, neighbours, "exchange") if relation == "imported_by"
    }
    assert len(importing) == 2


def test_neighbours_are_unique_and_exclude_the_chunk(corpus, neighbours):
    for row in range(corpus.n_chunks):
        pairs = [(other, relation) for other, relation, *_ in neighbours.find(row, corpus.file_starts)]
        assert row not in {other for other, _ in pairs}
        assert len(pairs) == len(set(pairs))


def test_hub_has_bounded_neighbours():
    users = "\n\n".join(f"def use_{number}():\n    return hub({number})\n" for number in range(60))
    corpus = make_corpus({"a.py": f"def hub(x):\n    return x\n\n{users}"})
    edges = [(f"use_{number}", "calls", "hub", 6 + 4 * number, 0.5 + number / 200) for number in range(60)]
    neighbours = ChunkNeighbours(corpus, CodeGraph(SymbolGraph(tables_of(corpus, edges))))
    rows = list(neighbours.find(row_named(corpus, "hub"), corpus.file_starts))
    assert len(rows) == 8
    assert corpus.get_value("qualified_name", rows[0][0]) == "use_59"


def test_empty_graph_has_no_neighbours(corpus):
    neighbours = ChunkNeighbours(corpus, CodeGraph(SymbolGraph(build_empty_graph())))
    assert list(neighbours.find(0, corpus.file_starts)) == []
