from pathlib import Path

import numpy as np
import pytest

from coderag.app import CodeRAG
from coderag.stores.corpus import Corpus, compute_dot_products
from coderag.stores.index_store import IndexStore
from tests.support.corpora import make_corpus, row_named, write_files

FILES = {
    "docs/guide.md": "# Guide\n\nHow to pay.\n",
    "shop/cart.py": (
        'class Cart:\n    """Holds items."""\n\n    def total(self):\n        return 1\n\n\ndef checkout(cart):\n'
        "    return cart.total()\n"
    ),
    "tests/test_cart.py": "def test_total():\n    assert True\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def test_files_follow_the_order_of_their_chunks(corpus):
    assert corpus.paths == ["docs/guide.md", "shop/cart.py", "tests/test_cart.py"]
    assert corpus.n_files == 3


def test_chunks_of_a_file_are_adjacent(corpus):
    rows = [row for file in range(corpus.n_files) for row in corpus.get_chunk_rows(file)]
    assert rows == list(range(corpus.n_chunks))
    assert [corpus.get_value("path", row) for row in corpus.get_chunk_rows(1)] == ["shop/cart.py"] * 2


def test_chunk_files_maps_every_chunk(corpus):
    assert [corpus.paths[file] for file in corpus.chunk_files] == corpus.get_column("path")


def test_rows_are_found_by_id(corpus):
    assert [corpus.rows_by_id[chunk_id] for chunk_id in corpus.get_column("id")] == list(range(corpus.n_chunks))


def test_file_vectors_follow_the_order_of_files(corpus):
    content, places = corpus.snapshot.read_file_vectors()
    position = [record.path for record in corpus.snapshot.read_files()].index("tests/test_cart.py")
    np.testing.assert_array_equal(corpus.file_vectors[2], content[position])
    np.testing.assert_array_equal(corpus.path_vectors[2], places[position])


def test_compute_file_max_returns_the_largest_value_of_each_file(corpus):
    values = np.arange(corpus.n_chunks, dtype=np.float32)
    assert corpus.compute_file_max(values).tolist() == [corpus.get_chunk_rows(file)[-1] for file in range(3)]


def test_find_best_rows_prefers_the_first_of_equals(corpus):
    assert corpus.find_best_rows(np.zeros(corpus.n_chunks, np.float32)).tolist() == corpus.file_starts.tolist()
    rising = np.arange(corpus.n_chunks, dtype=np.float32)
    assert corpus.find_best_rows(rising).tolist() == [corpus.get_chunk_rows(file)[-1] for file in range(3)]


def test_cosines_match_the_requested_vector(corpus):
    for row in (0, 1, 0):
        expected = corpus.vectors @ corpus.vectors[row]
        np.testing.assert_allclose(corpus.compute_cosines(corpus.vectors[row]), expected, atol=1e-6)


@pytest.mark.parametrize("rows", [0, 3, 40_000])
def test_dot_products_do_not_depend_on_size(rows):
    matrix = np.random.default_rng(1).normal(size=(rows, 256)).astype(np.float32)
    vector = np.linspace(-1, 1, 256, dtype=np.float32)
    np.testing.assert_allclose(
        compute_dot_products(matrix, vector), (matrix * vector).sum(axis=1), rtol=1e-3, atol=1e-3
    )


def test_misspelt_term_suggests_the_nearest(corpus):
    assert corpus.suggest_terms("chekout")[0] == "checkout"
    assert corpus.suggest_terms("photosynthesis") == []


def test_get_term_ids_keeps_repetitions_and_drops_unknown_terms(corpus):
    total = corpus.term_ids["total"]
    assert corpus.get_term_ids(["total", "zebra", "total"]) == [total, total]


def test_files_have_roles_and_lengths(corpus):
    assert corpus.file_roles == ["docs", "source", "test"]
    assert {role: files.tolist() for role, files in corpus.files_by_role.items()} == {
        "docs": [0],
        "source": [1],
        "test": [2],
    }
    assert corpus.file_line_counts.tolist() == [3, 9, 2]


def test_declared_name_weighs_more_than_a_word_of_the_text(corpus):
    scores = corpus.body.score([corpus.term_ids["checkout"]])
    assert np.flatnonzero(scores).tolist() == [row_named(corpus, "checkout")]
    total = corpus.body.score([corpus.term_ids["total"]])
    assert total[row_named(corpus, "Cart")] > total[row_named(corpus, "checkout")] > 0


def test_path_word_matches_all_chunks_of_the_file(corpus):
    scores = corpus.body.score([corpus.term_ids["cart"]])
    assert set(corpus.get_chunk_rows(1)) <= set(np.flatnonzero(scores).tolist())


def test_names_and_docs_have_separate_indexes(corpus):
    assert np.flatnonzero(corpus.names.score([corpus.term_ids["total"]])).tolist() == [
        row_named(corpus, "Cart"),
        row_named(corpus, "test_total"),
    ]
    assert np.flatnonzero(corpus.docs.score([corpus.term_ids["hold"]])).tolist() == [1]


def test_chunk_symbols_are_found_by_name_and_row(corpus):
    assert corpus.symbols.find("Cart.total")[0].row == row_named(corpus, "Cart")
    assert corpus.symbols.find("shop.cart.checkout")[0].quality == 1


def test_empty_index_has_empty_arrays():
    corpus = make_corpus({})
    assert (corpus.n_chunks, corpus.n_files, corpus.paths, corpus.rows_by_id) == (0, 0, [], {})
    assert corpus.body.score([]).tolist() == corpus.names.score([]).tolist() == corpus.docs.score([]).tolist() == []
    assert corpus.compute_file_max(np.zeros(0, np.float32)).tolist() == corpus.file_line_counts.tolist() == []
    assert corpus.symbols.find("x") == []


def test_index_on_disk_yields_the_same_arrays(corpus, tmp_path):
    rag = CodeRAG(write_files(tmp_path, FILES), ingestion={"chunk": {"min_tokens": 0}})
    rag.index()
    stored = Corpus(IndexStore(Path(tmp_path) / ".coderag").open())
    assert stored.paths == corpus.paths
    assert stored.get_column("qualified_name") == corpus.get_column("qualified_name")
    np.testing.assert_array_equal(stored.chunk_files, corpus.chunk_files)
    np.testing.assert_allclose(stored.vectors, corpus.vectors, atol=1e-6)
    np.testing.assert_allclose(stored.path_vectors, corpus.path_vectors, atol=1e-6)
    term = "total"
    np.testing.assert_allclose(
        stored.body.score(stored.get_term_ids([term])), corpus.body.score(corpus.get_term_ids([term])), rtol=1e-6
    )
