"""Vocabulary of an index over the term counts of several workers, each with its own numbering."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.stores.field_counts import FieldCounts


class Vocabulary:
    """Terms of an index in order of first occurrence; it only grows.

    The order does not depend on the workers: new terms of a batch keep the batch's order.

    Args:
        terms: Initial vocabulary, such as that of the index to update.

    Attributes:
        terms: Column ``j`` of all counts is ``terms[j]``.
    """

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self.terms = list(terms)
        self._numbers = {term: number for number, term in enumerate(self.terms)}
        self._columns: defaultdict[str, NDArray[np.int32]] = defaultdict(lambda: np.zeros(0, np.int32))

    def learn(self, worker: str, new_terms: Sequence[str], first: int) -> None:
        """Register the terms of a worker's columns from number `first` on; the worker has given up later ones."""
        numbers = self._numbers
        for term in new_terms:
            if term not in numbers:
                numbers[term] = len(self.terms)
                self.terms.append(term)
        columns = np.fromiter(map(numbers.__getitem__, new_terms), np.int32, len(new_terms))
        self._columns[worker] = np.concatenate([self._columns[worker][:first], columns])

    def translate(self, worker: str, counts: FieldCounts) -> FieldCounts:
        """Translate a worker's counts to this vocabulary."""
        body, names, docs = (self.translate_matrix(worker, matrix) for matrix in counts.matrices)
        return FieldCounts(body=body, names=names, docs=docs)

    def translate_matrix(self, worker: str, matrix: sp.csr_matrix) -> sp.csr_matrix:
        """Translate a worker's matrix to this vocabulary, with sorted columns."""
        columns = self._columns[worker][matrix.indices]
        shape = (matrix.shape[0], len(self.terms))
        translated = sp.csr_matrix((matrix.data.copy(), columns, matrix.indptr), shape=shape)
        translated.sort_indices()  # in place; here, to spare the commit
        return translated
