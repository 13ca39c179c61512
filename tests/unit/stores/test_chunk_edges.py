"""Uses between chunks, as the ranker asks for them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.stores.chunk_edges import ChunkEdges
from tests.support.corpora import make_corpus, row_named

FILES = {
    "shop/cart.py": (
        "from shop.money import Money, round_up\n\n\n"
        "def total(prices):\n    return round_up(sum(prices))\n\n\n"
        "def pay(prices):\n    return Money(total(prices))\n\n\n"
        "def count_down(steps):\n    return steps and count_down(steps - 1)\n"
    ),
    "shop/money.py": (
        "def round_up(amount):\n    return -(-amount // 1)\n\n\n"
        "class Money:\n    def __init__(self, amount):\n        self.amount = amount\n"
    ),
    "shop/other.py": "def guess(thing):\n    return thing.total()\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def neighbours(corpus, name):
    rows = corpus.chunk_edges.find_neighbours([row_named(corpus, name)], 100)
    return {corpus.get_value("qualified_name", row) for row in rows}


def test_callers_and_callees_are_neighbours(corpus):
    assert {"pay", "round_up"} <= neighbours(corpus, "total")
    assert neighbours(corpus, "round_up") >= {"total"}


def test_instantiation_is_a_use(corpus):
    assert any(name.startswith("Money") for name in neighbours(corpus, "pay"))


def test_recursive_function_is_no_neighbour_of_itself(corpus):
    assert "count_down" not in neighbours(corpus, "count_down")


def test_unresolved_call_is_no_edge(corpus):
    assert "total" not in neighbours(corpus, "guess")


def test_best_user_and_best_used_are_looked_up_in_the_direction_of_the_call(corpus):
    values = np.zeros(corpus.n_chunks, np.float32)
    values[row_named(corpus, "total")] = 0.8
    rows = np.array([row_named(corpus, name) for name in ("round_up", "pay", "total", "count_down")])
    assert corpus.chunk_edges.find_best_user(values, rows).tolist() == pytest.approx([0.8, 0, 0, 0])
    assert corpus.chunk_edges.find_best_used(values, rows).tolist() == pytest.approx([0, 0.8, 0, 0])


def test_neighbours_of_the_first_seed_come_first_up_to_the_limit():
    edges = ChunkEdges(6, np.array([0, 0, 3, 5]), np.array([1, 2, 4, 3]))
    assert edges.find_neighbours([0, 3], 10) == [1, 2, 4, 5]
    assert edges.find_neighbours([3, 0], 10) == [4, 5, 1, 2]
    assert edges.find_neighbours([0, 3], 3) == [1, 2, 4]
    assert edges.find_neighbours([1], 10) == [0]
    assert edges.find_neighbours([], 10) == []


def test_index_without_calls_has_no_neighbours():
    corpus = make_corpus({"a.py": "x = 1\n", "b.md": "# Title\n\nText.\n"})
    rows = np.arange(corpus.n_chunks)
    assert corpus.chunk_edges.find_neighbours(rows.tolist(), 10) == []
    assert not corpus.chunk_edges.find_best_user(np.ones(corpus.n_chunks, np.float32), rows).any()


def test_empty_index_has_no_edges():
    assert make_corpus({}).chunk_edges.find_neighbours([], 10) == []


def test_use_belongs_to_the_chunk_in_which_its_declaration_begins():
    files = {f"m{number}.py": f"def f{number}():\n    return 1\n" for number in range(3)}
    files["z.py"] = "from m1 import f1\n\n\ndef before():\n    return 2\n\n\ndef after():\n    return f1()\n"
    corpus = make_corpus(files)
    assert neighbours(corpus, "f1") >= {"after"}
    assert not neighbours(corpus, "f1") & {"before", "f0", "f2"}


N_CHUNKS = 7
EDGES = st.lists(st.tuples(st.integers(0, N_CHUNKS - 1), st.integers(0, N_CHUNKS - 1)), max_size=20, unique=True)
VALUES = st.lists(st.floats(0, 1, width=32), min_size=N_CHUNKS, max_size=N_CHUNKS)


@given(EDGES, VALUES, st.lists(st.integers(0, N_CHUNKS - 1), max_size=9))
def test_maxima_equal_those_of_a_loop(edges, values, rows):
    built = ChunkEdges(N_CHUNKS, *np.array(edges, np.int64).reshape(-1, 2).T)
    array, chosen = np.array(values, np.float32), np.array(rows, np.int64)
    users = [max((values[user] for user, used in edges if used == row), default=0) for row in rows]
    used_rows = [max((values[used] for user, used in edges if user == row), default=0) for row in rows]
    np.testing.assert_allclose(built.find_best_user(array, chosen), users)
    np.testing.assert_allclose(built.find_best_used(array, chosen), used_rows)


@given(EDGES)
def test_neighbours_are_symmetric(edges):
    built = ChunkEdges(N_CHUNKS, *np.array(edges, np.int64).reshape(-1, 2).T)
    sets = [set(built.find_neighbours([row], 100)) for row in range(N_CHUNKS)]
    assert all((other in sets[row]) == (row in sets[other]) for row in range(N_CHUNKS) for other in range(N_CHUNKS))
    assert all(len(built.find_neighbours(list(pair), 2)) <= 2 for pair in pairwise(range(N_CHUNKS)))


@given(EDGES, st.lists(st.integers(0, N_CHUNKS - 1), unique=True))
def test_renumbered_edges_are_those_between_the_chunks_that_remain(edges, kept):
    built = ChunkEdges(N_CHUNKS, *np.array(edges, np.int64).reshape(-1, 2).T)
    new_rows = np.full(N_CHUNKS, -1, np.int64)
    new_rows[kept] = np.arange(len(kept)) + 1
    renumbered = built.renumber(new_rows, len(kept) + 3)
    for old, new in enumerate(new_rows.tolist()):
        if new >= 0:
            remaining = {int(new_rows[row]) for row in built.find_neighbours([old], 100)} - {-1}
            assert set(renumbered.find_neighbours([new], 100)) == remaining
    assert renumbered.find_neighbours([0, len(kept) + 1, len(kept) + 2], 100) == []
