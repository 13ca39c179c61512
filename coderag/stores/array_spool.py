"""Arrays in a temporary file: a run that adds millions of rows keeps none of them in memory."""

import mmap
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.stores.disk import map_storage_errors
from coderag.stores.field_counts import FieldCounts

if TYPE_CHECKING:
    import scipy.sparse as sp

_ALIGNMENT = 8  # bytes


class _Extent(NamedTuple):
    """Place of an array in the file, in bytes."""

    start: int
    dtype: np.dtype[Any]
    length: int


class CountsSpool:
    """Term counts in a temporary file without a name, which vanishes with the process.

    Args:
        directory: Folder on the disk that holds the index.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with map_storage_errors(f"write {directory}"):
            self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  # closed by `close`
        self._parts: list[tuple[int, list[_Extent]]] = []
        self._end = 0

    def add(self, counts: FieldCounts) -> None:
        """Add counts.

        Raises:
            StorageFullError: No space is left.
        """
        for matrix in counts.matrices:
            matrix.sum_duplicates()
        arrays = [array for matrix in counts.matrices for array in (matrix.data, matrix.indices, matrix.indptr)]
        with map_storage_errors(f"write {self._directory}"):
            self._parts.append((counts.n_terms, [self._write(np.ascontiguousarray(array)) for array in arrays]))

    def read(self) -> list[FieldCounts]:
        """Return all counts in the order of their addition; their arrays are mapped from the file."""
        if not self._parts:
            return []
        with map_storage_errors(f"read {self._directory}"):
            self._file.flush()
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return [
            FieldCounts(*(self._read_matrix(mapped, extents[first : first + 3], n_terms) for first in (0, 3, 6)))
            for n_terms, extents in self._parts
        ]

    def close(self) -> None:
        """Delete the file; counts that were read stay valid."""
        self._file.close()

    def _write(self, array: NDArray[Any]) -> _Extent:
        extent = _Extent(self._end, array.dtype, len(array))
        padding = -array.nbytes % _ALIGNMENT
        self._file.write(array.data)
        self._file.write(bytes(padding))
        self._end += array.nbytes + padding
        return extent

    def _read_matrix(self, mapped: mmap.mmap, extents: list[_Extent], n_terms: int) -> "sp.csr_matrix[np.float32]":
        import scipy.sparse as sp  # noqa: PLC0415 - 0.3 s

        data, indices, indptr = (np.frombuffer(mapped, dtype, length, start) for start, dtype, length in extents)
        matrix = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_terms))
        matrix.has_canonical_format = True
        return matrix
