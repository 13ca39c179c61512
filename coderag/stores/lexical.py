"""BM25 over term counts, with all weights precomputed: a query only adds columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import scipy.sparse as sp

FloatArray = NDArray[np.float32]

K1 = 1.5
"""Saturation of term frequency. Source: default of bm25s and rank-bm25; Lucene uses 1.2."""

B = 0.75
"""Length normalisation. Source: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009)."""

NAMES_WEIGHT = 2.0
"""Weight of a term in a declared name, relative to one in the text."""

DOCS_WEIGHT = 1.0
"""Weight of a term in a summary or docstring, in addition to the docstring's count in the text."""


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """BM25 weights by term: a sparse matrix in columns (CSC) whose rows are documents.

    Attributes:
        data: float32 (n_weights,), non-negative.
        rows: int32 (n_weights,), document of each weight, unique within a column.
        starts: int64 (n_terms + 1,), start of each term's column.
        n_rows: Number of documents.
    """

    data: FloatArray
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]
    n_rows: int

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.starts) - 1

    def find_documents(self, term: int) -> NDArray[np.int32]:
        """Return the documents that contain a term."""
        return self.rows[self.starts[term] : self.starts[term + 1]]

    def score(
        self, term_ids: Sequence[int] | NDArray[np.integer], weights: Sequence[float] | None = None
    ) -> FloatArray:
        """Score every document: float32 (n_rows,), 0 where no term occurs.

        Args:
            term_ids: Terms of the query; repetitions count.
            weights: Factor of each term.
        """
        scores = np.zeros(self.n_rows, np.float32)
        for position, term in enumerate(term_ids):
            if not 0 <= term < self.n_terms:
                message = f"term id {term} is out of range: the index has {self.n_terms} terms"
                raise IndexError(message)
            column = slice(self.starts[term], self.starts[term + 1])
            values = self.data[column]
            scores[self.rows[column]] += values if weights is None else values * np.float32(weights[position])
        return scores


def compute_bm25_weights(
    counts: "sp.csr_matrix[np.float32]", *, k1: float = K1, b: float = B, lengths: NDArray[Any] | None = None
) -> LexicalIndex:
    """Compute the BM25 weight of every term in every document.

    weight = log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length))

    Source: Lucene's variant, after Kamphuis et al., Which BM25 Do You Mean? (ECIR 2020), without the constant factor
    k1 + 1; equal to ``bm25s.BM25(method="lucene")``.

    Args:
        counts: Term counts, (n_documents, n_terms); weighted fields may be summed beforehand.
        k1: See `K1`.
        b: See `B`.
        lengths: Document lengths; by default the sums of counts.
    """
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    n_rows = counts.shape[0]
    columns = counts.tocsc()
    tf = columns.data.astype(np.float32, copy=False)
    starts = columns.indptr.astype(np.int64)
    rows = columns.indices.astype(np.int32, copy=False)
    df = np.diff(starts)
    idf = np.log1p((n_rows - df + 0.5) / (df + 0.5)).astype(np.float32)
    length = np.asarray(counts.sum(axis=1) if lengths is None else lengths, np.float64).reshape(-1)
    mean = float(length.mean()) if n_rows else 0.0
    norm = (k1 * (1 - b + b * length / (mean or 1.0))).astype(np.float32)
    data = tf / (tf + norm[rows])
    data *= np.repeat(idf, df)
    return LexicalIndex(data, rows, starts, n_rows)
