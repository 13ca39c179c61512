"""One vocabulary over the term counts of several workers, each of which numbers terms for itself."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.stores.field_counts import FieldCounts


class Vocabulary:
    """The terms of an index, in the order in which they were first met; it only grows.

    Which worker counted what does not show: a batch's new terms are in the order of the batch.

    Args:
        terms: What it starts from, such as the vocabulary of the index that is updated.

    Attributes:
        terms: Column ``j`` of all counts is ``terms[j]``.
    """

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self.terms = list(terms)
        self._numbers = {term: number for number, term in enumerate(self.terms)}
        self._columns: defaultdict[str, NDArray[np.int32]] = defaultdict(lambda: np.zeros(0, np.int32))

    def learn(self, worker: str, new_terms: Sequence[str]) -> None:
        """Note which terms a worker's next columns stand for."""
        numbers = self._numbers
        for term in new_terms:
            if term not in numbers:
                numbers[term] = len(self.terms)
                self.terms.append(term)
        columns = np.fromiter(map(numbers.__getitem__, new_terms), np.int32, len(new_terms))
        self._columns[worker] = np.concatenate([self._columns[worker], columns])

    def translate(self, worker: str, counts: FieldCounts) -> FieldCounts:
        """Return a worker's counts over this vocabulary."""
        body, names, docs = (self.translate_matrix(worker, matrix) for matrix in counts.matrices)
        return FieldCounts(body=body, names=names, docs=docs)

    def translate_matrix(self, worker: str, matrix: sp.csr_matrix) -> sp.csr_matrix:
        """Return one matrix of a worker over this vocabulary, with sorted columns."""
        columns = self._columns[worker][matrix.indices]
        shape = (matrix.shape[0], len(self.terms))
        translated = sp.csr_matrix((matrix.data.copy(), columns, matrix.indptr), shape=shape)
        translated.sort_indices()  # in place; a few here instead of all at the commit
        return translated
