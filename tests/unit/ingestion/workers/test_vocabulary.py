import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coderag.ingestion.workers.vocabulary import Vocabulary
from coderag.stores.field_counts import FieldCounts

WORDS = st.sampled_from(["get", "set", "key", "store", "find", "add", "remove", "größe"])
JOBS = st.lists(
    st.tuples(st.sampled_from(["one", "two", "three"]), st.lists(WORDS, max_size=6), st.booleans()), max_size=12
)
"""Worker, words, and whether the worker numbers its terms anew before them."""


def counted(words, columns):
    """Return one document's counts over a worker's columns."""
    numbers = [columns.index(word) for word in words]
    row = np.bincount(numbers, minlength=len(columns)).astype(np.float32) if words else np.zeros(len(columns))
    return sp.csr_matrix(row.reshape(1, -1), dtype=np.float32)


def in_words(matrix, terms):
    return {terms[column]: int(n) for column, n in zip(matrix.indices, matrix.data, strict=True)}


@given(JOBS, st.lists(WORDS, unique=True))
def test_translated_counts_do_not_depend_on_the_worker(jobs, initial_terms):
    vocabulary = Vocabulary(initial_terms)
    columns = {}
    met = list(initial_terms)
    for worker, words, restarts in jobs:
        own = columns.setdefault(worker, [])
        if restarts:
            own.clear()
        first = len(own)
        new = [word for word in dict.fromkeys(words) if word not in own]
        own += new
        met += [word for word in new if word not in met]
        vocabulary.learn(worker, new, first)
        matrix = counted(words, own)
        translated = vocabulary.translate(worker, FieldCounts(body=matrix, names=matrix, docs=matrix))
        expected = {word: words.count(word) for word in words}
        assert [in_words(counts, vocabulary.terms) for counts in translated.matrices] == [expected] * 3
        assert all(counts.shape[1] == len(vocabulary.terms) for counts in translated.matrices)
    assert vocabulary.terms == met
