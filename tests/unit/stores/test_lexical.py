"""BM25 against bm25s and hand-computed values."""

import math

import bm25s
import numpy as np
import pytest
import scipy.sparse as sp

from coderag.integrations.llama_index.bm25_retriever import to_bm25s
from coderag.stores.lexical import compute_bm25_weights


def test_weight_matches_a_hand_computed_value():
    counts = sp.csr_matrix(np.array([[2, 0], [0, 1], [1, 3]], np.float32))
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    norm = 1.5 * (1 - 0.75 + 0.75 * 2 / (7 / 3))
    assert compute_bm25_weights(counts).score([0])[0] == pytest.approx(idf * 2 / (2 + norm))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (1.2, 0.3), (0.9, 0.0)])
def test_scores_match_bm25s(seed, k1, b):
    rng = np.random.default_rng(seed)
    documents = [[f"t{term}" for term in rng.geometric(0.1, rng.integers(1, 40))] for _ in range(60)]
    theirs = bm25s.BM25(method="lucene", k1=k1, b=b)
    theirs.index(documents, show_progress=False)
    terms = sorted({term for document in documents for term in document})
    ids = {term: number for number, term in enumerate(terms)}
    counts = np.zeros((len(documents), len(terms)), np.float32)
    for row, document in enumerate(documents):
        for term in document:
            counts[row, ids[term]] += 1
    ours = compute_bm25_weights(sp.csr_matrix(counts), k1=k1, b=b)
    for _ in range(10):
        query = [str(term) for term in rng.choice(terms, 4)]
        expected = theirs.get_scores(query)
        np.testing.assert_allclose(ours.score([ids[term] for term in query]), expected, rtol=2e-5)
        np.testing.assert_allclose(to_bm25s(ours, terms).get_scores(query), expected, rtol=2e-5)


def test_duplicate_entries_are_summed_without_changing_the_input():
    twice = sp.csr_matrix((np.ones(3, np.float32), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    once = sp.csr_matrix(np.array([[2, 0], [0, 1]], np.float32))
    np.testing.assert_array_equal(compute_bm25_weights(twice).score([0, 1]), compute_bm25_weights(once).score([0, 1]))
    assert twice.nnz == 3


def test_document_lengths_can_be_given():
    counts = sp.csr_matrix(np.array([[1.0], [1.0]], np.float32))
    scores = compute_bm25_weights(counts, lengths=np.array([10, 1000])).score([0])
    assert scores[0] > scores[1]


def test_weights_scale_terms_and_repetition_doubles_them():
    index = compute_bm25_weights(sp.csr_matrix(np.array([[2, 0], [0, 1]], np.float32)))
    np.testing.assert_allclose(index.score([0], [2.0]), index.score([0, 0]))
    assert index.score([0]).dtype == np.float32


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
def test_empty_query_scores_zero(shape):
    index = compute_bm25_weights(sp.csr_matrix(shape, dtype=np.float32))
    assert index.n_terms == shape[1]
    assert index.score([]).tolist() == [0.0] * shape[0]
    assert not index.score(range(shape[1])).any()


def test_unknown_term_ids_are_rejected():
    index = compute_bm25_weights(sp.csr_matrix((2, 2), dtype=np.float32))
    for term in (-1, 2):
        with pytest.raises(IndexError):
            index.score([term])
