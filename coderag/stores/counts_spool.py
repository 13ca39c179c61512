"""Term counts in a temporary file: a run that adds millions of rows keeps none of them in memory."""

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.stores.disk import map_storage_errors
from coderag.stores.field_counts import FieldCounts

if TYPE_CHECKING:
    import scipy.sparse as sp


class _Extent(NamedTuple):
    """Place of an array in the file, in bytes."""

    start: int
    dtype: np.dtype[Any]
    length: int


class CountsSpool(Sequence[FieldCounts]):
    """Term counts in a temporary file without a name, which vanishes with the process.

    Each access reads one part from the file: a mapped file would keep its space on the disk while anything refers to it.

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
            self._file.seek(self._end)
            self._parts.append((counts.n_terms, [self._write(np.ascontiguousarray(array)) for array in arrays]))

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, number: Any) -> Any:  # noqa: ANN401  # an int or a slice
        if isinstance(number, slice):
            return [self[part] for part in range(*number.indices(len(self)))]
        n_terms, extents = self._parts[number]
        with map_storage_errors(f"read {self._directory}"):
            arrays = [self._read(extent) for extent in extents]
        return FieldCounts(*(_build_matrix(arrays[first : first + 3], n_terms) for first in (0, 3, 6)))

    def close(self) -> None:
        """Delete the file; what a full disk did not take is lost with it."""
        with suppress(OSError):
            self._file.close()

    def _write(self, array: NDArray[Any]) -> _Extent:
        extent = _Extent(self._end, array.dtype, len(array))
        self._file.write(array.data)
        self._end += array.nbytes
        return extent

    def _read(self, extent: _Extent) -> NDArray[Any]:
        self._file.seek(extent.start)
        return np.frombuffer(self._file.read(extent.length * extent.dtype.itemsize), extent.dtype)


def _build_matrix(arrays: Sequence[NDArray[Any]], n_terms: int) -> "sp.csr_matrix[np.float32]":
    import scipy.sparse as sp  # noqa: PLC0415 - 0.3 s

    data, indices, indptr = arrays
    matrix = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_terms))
    matrix.has_canonical_format = True
    return matrix
