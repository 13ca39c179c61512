"""Arrays of a generation on disk: term counts, vocabulary, chunk ids and attached arrays.

They are plain ``.npy`` files that can be memory-mapped. The counts of the three fields follow one another; as small
integers they take one or two bytes each.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.stores.disk import map_storage_errors, sync_all, sync_directory, to_utf8
from coderag.stores.field_counts import FIELDS, FieldCounts
from coderag.stores.pointer import REBUILD_HINT

if TYPE_CHECKING:
    import pyarrow as pa

_DATA_FILE, _COLUMNS_FILE, _ENDS_FILE = "counts.npy", "columns.npy", "ends.npy"
_ID_BYTES_FILE, _ID_ENDS_FILE = "id_bytes.npy", "id_ends.npy"
_TERMS_FILE = "terms.txt"
_ATTACHED_PREFIX = "attached-"
_TERM_SEPARATOR = "\n"
_BAD_HEADER_ERRORS = (
    TokenError,
    SyntaxError,
    TypeError,
    KeyError,
    MemoryError,
    OverflowError,
)  # raised by NumPy for a damaged header
_UINT8, _INT32, _INT64 = (np.dtype(kind).str for kind in (np.uint8, np.int32, np.int64))
_MIN_MAPPED_BYTES = 1 << 16  # bytes; reading a smaller file is cheaper than mapping it


@dataclass(frozen=True, slots=True)
class RowIds:
    """Chunk ids in row order, as Arrow stores them: one buffer of bytes and the end of each id."""

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @staticmethod
    def from_column(column: "pa.ChunkedArray | pa.Array") -> "RowIds":
        """Build the ids of an Arrow string column."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if len(array) == 0:
            return RowIds(np.zeros(0, np.uint8), np.zeros(0, np.int64))
        _, offset_buffer, data_buffer = array.buffers()
        offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
        data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]] if data_buffer else np.zeros(0, np.uint8)
        return RowIds(data, offsets[1:] - offsets[0])

    def equals(self, other: "RowIds") -> bool:
        """Return whether both hold the same ids in the same order."""
        return np.array_equal(self.ends, other.ends) and np.array_equal(self.data, other.data)

    def to_list(self) -> list[bytes]:
        """Return the ids."""
        data = self.data.tobytes()
        ends = self.ends.tolist()
        return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def write_generation_arrays(
    directory: Path,
    counts: Sequence[FieldCounts],
    terms: Sequence[str],
    ids: RowIds,
    attached: Mapping[str, NDArray[Any]],
) -> None:
    """Write a generation's arrays to a temporary directory, flush them to disk, and rename it into place.

    Args:
        directory: Target directory.
        counts: Term counts in parts, sorted and without duplicates in each row. They are never in memory together.
        terms: Vocabulary; column j of the counts belongs to term j.
        ids: Ids of the rows of the counts.
        attached: Attached arrays, by name.
    """
    vocabulary = to_utf8(_TERM_SEPARATOR.join(terms)).encode()
    if vocabulary.count(_TERM_SEPARATOR.encode()) != max(len(terms) - 1, 0):
        message = "A term contains a line break"
        raise StoreError(message)
    layout = _measure(counts)
    arrays: dict[str, NDArray[Any]] = {
        _ENDS_FILE: np.stack(layout.ends),
        _ID_BYTES_FILE: ids.data,
        _ID_ENDS_FILE: ids.ends,
    }
    arrays |= {f"{_ATTACHED_PREFIX}{name}.npy": array for name, array in attached.items()}
    temporary = directory.with_name(f"{directory.name}.{os.getpid()}.tmp")
    with map_storage_errors(f"write {directory}"):
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            _write_entries(temporary, counts, layout)
            for name, array in arrays.items():
                _write_file(temporary / name, array)
            _write_file(temporary / _TERMS_FILE, vocabulary)
            sync_all([*temporary.iterdir(), temporary])
            if directory.exists():  # left by a writer that was killed before it could replace the pointer
                shutil.rmtree(directory)
            temporary.rename(directory)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_directory(directory.parent)


def read_counts(directory: Path, n_terms: int) -> tuple[FieldCounts, RowIds]:
    """Read the counts and the ids of their rows.

    Raises:
        StoreError: The arrays cannot be read, or are inconsistent with each other or the vocabulary.
    """
    import scipy.sparse as sp  # noqa: PLC0415 - 0.3 s

    data = read_array(directory, _DATA_FILE).astype(np.float32)
    columns = read_array(directory, _COLUMNS_FILE, use_mmap=True)
    ends = read_array(directory, _ENDS_FILE)
    ids = RowIds(read_array(directory, _ID_BYTES_FILE), read_array(directory, _ID_ENDS_FILE))
    if not (_is_valid_counts(data, columns, ends, n_terms) and _is_valid_ids(ids, len(ends[0]) - 1)):
        message = f"Cannot read {directory}: the arrays are inconsistent"
        raise StoreError(message, hint=REBUILD_HINT)
    start, matrices = 0, []
    for indptr in ends:
        stop = start + int(indptr[-1])
        if stop < np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)  # noqa: PLW2901 - scipy copies the columns if the types differ
        shape = (len(indptr) - 1, n_terms)
        matrix = sp.csr_matrix((data[start:stop], columns[start:stop], indptr), shape=shape)
        matrix.has_canonical_format = True
        matrices.append(matrix)
        start = stop
    return FieldCounts(*matrices), ids


def read_terms(directory: Path) -> list[str]:
    """Read the vocabulary, by term id."""
    path = directory / _TERMS_FILE
    with map_storage_errors(f"read {path}", hint=REBUILD_HINT):
        text = path.read_bytes().decode()
    return text.split(_TERM_SEPARATOR) if text else []


def read_attached(directory: Path) -> dict[str, NDArray[Any]]:
    """Read the attached arrays, memory-mapped, by name."""
    names = sorted(path.name for path in directory.glob(f"{_ATTACHED_PREFIX}*.npy"))
    return {
        name.removeprefix(_ATTACHED_PREFIX).removesuffix(".npy"): read_array(directory, name, use_mmap=True)
        for name in names
    }


def read_array(directory: Path, name: str, *, use_mmap: bool = False) -> NDArray[Any]:
    """Read one array; on POSIX a mapped one stays valid after its file is deleted."""
    path = directory / name
    with map_storage_errors(f"read {path}", hint=REBUILD_HINT):
        mode: Literal["r"] | None = "r" if use_mmap and path.stat().st_size > _MIN_MAPPED_BYTES else None
        try:
            return np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))
        except _BAD_HEADER_ERRORS as error:
            raise ValueError(str(error)) from error


def _is_valid_counts(data: NDArray[Any], columns: NDArray[Any], ends: NDArray[Any], n_terms: int) -> bool:
    """Return whether scipy's native code, which trusts its input, stays inside these arrays.

    It reads the columns once: 2 ms for ten million, all of which are read anyway.
    """
    kinds, dimensions = (columns.dtype.str, ends.dtype.str), (data.ndim, columns.ndim, ends.ndim)
    if kinds != (_INT32, _INT64) or dimensions != (1, 1, 2):
        return False
    if len(ends) != len(FIELDS) or ends.shape[1] == 0 or len(data) != len(columns):
        return False
    if ends[:, 0].any() or (ends[:, 1:] < ends[:, :-1]).any() or sum(ends[:, -1].tolist()) != len(data):
        return False
    return (
        len(columns) == 0 or int(columns.view(np.uint32).max()) < n_terms
    )  # as unsigned, a negative column is out of range


def _is_valid_ids(ids: RowIds, n_rows: int) -> bool:
    """Return whether there is one valid id per row."""
    if (ids.data.dtype.str, ids.ends.dtype.str) != (_UINT8, _INT64) or (ids.data.ndim, ids.ends.ndim) != (1, 1):
        return False
    ends = [0, *ids.ends.tolist()]
    return len(ids.ends) == n_rows and ends == sorted(ends) and ends[-1] == len(ids.data)


def remove_generation_arrays(directory: Path) -> None:
    """Delete a generation's directory; a file in use (Windows) is left for the next time."""
    with suppress(OSError):
        shutil.rmtree(directory)


class _Layout(NamedTuple):
    """Sizes of counts.

    Attributes:
        ends: Row ends of each field with a leading 0, int64 (n_rows + 1,).
        dtype: Smallest type that holds all counts exactly.
    """

    ends: Sequence[NDArray[np.int64]]
    dtype: np.dtype[Any]


def _measure(counts: Sequence[FieldCounts]) -> _Layout:
    """Measure all parts, reading each once."""
    ends: list[list[NDArray[np.int64]]] = [[np.zeros(1, np.int64)] for _ in FIELDS]
    largest, are_integers = 0.0, True
    for part in counts:
        for matrix, field_ends in zip(part.matrices, ends, strict=True):
            if matrix.shape[0]:
                field_ends.append(matrix.indptr[1:] + field_ends[-1][-1])
            if not matrix.nnz:
                continue
            if matrix.data.min() < 0 or not np.isfinite(matrix.data.max()):
                message = "Term counts must be finite and non-negative"
                raise StoreError(message)
            largest = max(largest, float(matrix.data.max()))
            are_integers = are_integers and np.array_equal(matrix.data, np.trunc(matrix.data))
    kinds: tuple[type[np.integer], ...] = (np.uint8, np.uint16) if are_integers else ()
    dtype = next((kind for kind in kinds if largest <= np.iinfo(kind).max), np.float32)
    return _Layout([np.concatenate(field_ends) for field_ends in ends], np.dtype(dtype))


def _write_entries(directory: Path, counts: Sequence[FieldCounts], layout: _Layout) -> None:
    """Write the values and columns of all entries, field after field, reading each part once a field."""
    shape = (sum(int(ends[-1]) for ends in layout.ends),)
    with (directory / _DATA_FILE).open("wb") as data_file, (directory / _COLUMNS_FILE).open("wb") as columns_file:
        for file, dtype in ((data_file, layout.dtype), (columns_file, np.dtype(np.int32))):
            np.lib.format.write_array_header_1_0(file, {"descr": dtype.str, "fortran_order": False, "shape": shape})
        for field in range(len(FIELDS)):
            for part in counts:
                matrix = part.matrices[field]
                data_file.write(np.ascontiguousarray(matrix.data, layout.dtype).data)
                columns_file.write(np.ascontiguousarray(matrix.indices, np.int32).data)


def _write_file(path: Path, content: NDArray[Any] | bytes) -> None:
    with path.open("wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            np.save(file, np.ascontiguousarray(content), allow_pickle=False)
