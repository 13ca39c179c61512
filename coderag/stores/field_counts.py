"""Term counts of chunks by field, the input of the lexical index and of the embedded dense model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import scipy.sparse as sp

    Csr: TypeAlias = sp.csr_matrix[np.float32]

FIELDS = ("body", "names", "docs")


@dataclass(frozen=True, slots=True)
class FieldCounts:
    """Term counts of n chunks by field.

    Each is a ``scipy.sparse.csr_matrix`` of float32, shape (n_chunks, n_terms); all three have the same shape,
    and row i belongs to the same chunk in each.

    Attributes:
        body: Terms of the text.
        names: Terms of the declared names.
        docs: Terms of summary, docstring and comments.
    """

    body: "Csr"
    names: "Csr"
    docs: "Csr"

    def __post_init__(self) -> None:
        if not self.body.shape == self.names.shape == self.docs.shape:
            message = f"the fields differ in shape: {self.body.shape}, {self.names.shape}, {self.docs.shape}"
            raise ValueError(message)

    def __len__(self) -> int:
        return int(self.body.shape[0])

    @property
    def n_terms(self) -> int:
        """Number of columns."""
        return int(self.body.shape[1])

    @property
    def matrices(self) -> "tuple[Csr, Csr, Csr]":
        """Matrices of the fields, in the order of `FIELDS`."""
        return self.body, self.names, self.docs

    def select(self, rows: NDArray[np.integer] | NDArray[np.bool_] | Sequence[int]) -> "FieldCounts":
        """Select the counts of some chunks.

        Args:
            rows: Row numbers in the wanted order, or a mask over all rows.
        """
        index = np.asarray(rows)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        elif index.size == 0:
            index = index.astype(np.int64)
        return FieldCounts(*(matrix[index] for matrix in self.matrices))

    @staticmethod
    def concat(
        parts: "Sequence[FieldCounts]", n_terms: int, keep_mask: NDArray[np.bool_] | None = None
    ) -> "FieldCounts":
        """Concatenate the rows of all parts over the first ``n_terms`` terms.

        Args:
            parts: Counts over at most ``n_terms`` terms each: vocabularies only grow.
            n_terms: Number of columns of the result.
            keep_mask: Mask over the rows of all parts; by default all are kept.
        """
        kept_parts = parts if keep_mask is None else FieldCounts.split_kept(parts, keep_mask)
        fields = [[part.matrices[field] for part in kept_parts] for field in range(len(FIELDS))]
        return FieldCounts(*(_stack_rows(matrices, n_terms) for matrices in fields))

    @staticmethod
    def split_kept(parts: "Sequence[FieldCounts]", keep_mask: NDArray[np.bool_]) -> "Sequence[FieldCounts]":
        """Split the rows of all parts into runs of kept rows, without copying them.

        An edit drops few rows, and copying runs is faster than picking rows.

        Args:
            parts: Counts.
            keep_mask: Mask over the rows of all parts.
        """
        if keep_mask.all():
            return parts
        runs, first = [], 0
        for part in parts:
            edges = np.flatnonzero(np.diff(keep_mask[first : first + len(part)], prepend=False, append=False)).tolist()
            runs += [
                FieldCounts(*(_slice_rows(matrix, start, end) for matrix in part.matrices))
                for start, end in zip(edges[::2], edges[1::2], strict=True)
            ]
            first += len(part)
        return runs

    @staticmethod
    def build_empty(n_chunks: int = 0, n_terms: int = 0) -> "FieldCounts":
        """Build counts of chunks without terms."""
        return FieldCounts(*(_build_matrix([], [], np.zeros(n_chunks + 1, np.int64), n_terms) for _ in FIELDS))


def _slice_rows(matrix: "Csr", start: int, end: int) -> "Csr":
    """Slice rows without a copy; slicing the matrix would copy."""
    import scipy.sparse as sp  # noqa: PLC0415 - 0.3 s

    indptr = matrix.indptr[start : end + 1]
    entries = slice(indptr[0], indptr[-1])
    shape = (end - start, matrix.shape[1])
    return sp.csr_matrix((matrix.data[entries], matrix.indices[entries], indptr - indptr[0]), shape=shape)


def _stack_rows(parts: "Sequence[Csr]", n_terms: int) -> "Csr":
    """Stack matrices of growing width; scipy's ``vstack`` requires equal widths and is slower."""
    if any(part.shape[1] > n_terms for part in parts):
        message = f"counts over more than {n_terms} terms"
        raise ValueError(message)
    starts = np.cumsum([0, *(int(part.indptr[-1]) for part in parts)], dtype=np.int64)
    indptr = np.concatenate(
        [np.zeros(1, np.int64), *(part.indptr[1:] + start for part, start in zip(parts, starts, strict=False))]
    )
    return _build_matrix([part.data for part in parts], [part.indices for part in parts], indptr, n_terms)


def _build_matrix(
    data: Sequence[NDArray[np.generic]], indices: Sequence[NDArray[np.generic]], indptr: NDArray[np.int64], n_terms: int
) -> "Csr":
    import scipy.sparse as sp  # noqa: PLC0415 - 0.3 s

    values = np.concatenate([np.zeros(0, np.float32), *data]).astype(np.float32, copy=False)
    columns = np.concatenate([np.zeros(0, np.int32), *indices]).astype(np.int32, copy=False)
    if len(values) < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # scipy requires index arrays of one type and would copy the larger one
    return sp.csr_matrix((values, columns, indptr), shape=(len(indptr) - 1, n_terms))
