"""Arrow tables of chunks and file records, and their conversion back.

Chunks are duck-typed (``node_id``, ``text``, ``metadata``), so nothing here imports LlamaIndex.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.schema.chunks import ChunkMetadata, FileRecord
from coderag.stores.disk import to_utf8

if TYPE_CHECKING:
    import pyarrow as pa
    from llama_index.core.schema import BaseNode

FloatArray = NDArray[np.float32]

_STRING_COLUMNS = (
    "path", "language", "kind", "name", "qualified_name", "signature", "docstring", "summary", "summary_source",
    "parent", "context", "role", "content_hash",
)  # fmt: skip
_LIST_COLUMNS = ("imports", "calls", "bases")
_LINE_COLUMNS = ("complexity", "start_line", "end_line")
_BYTE_COLUMNS = ("start_byte", "end_byte")
_SYMBOL_STRING_FIELDS = ("name", "qualified_name", "kind")
_SYMBOL_LINE_FIELDS = ("start_line", "end_line")

METADATA_COLUMNS: tuple[str, ...] = tuple(ChunkMetadata.__annotations__)
"""Metadata of a chunk, in the order of the schema."""

STRING_COLUMNS = frozenset(_STRING_COLUMNS)
LIST_COLUMNS = frozenset(_LIST_COLUMNS)
NUMBER_COLUMNS = frozenset(_LINE_COLUMNS + _BYTE_COLUMNS)

_METADATA_KEYS = frozenset(METADATA_COLUMNS)
_FILE_STRING_COLUMNS = ("path", "outcome", "reason", "hash", "language", "role", "encoding", "note")
_FILE_NUMBER_COLUMNS = ("size", "mtime_ns", "ctime_ns", "inode", "chunks", "symbols", "lines")


def build_chunk_schema(dimension: int) -> "pa.Schema":
    """Build the schema of the chunk table: ``id``, ``text``, the metadata and ``vector``."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    types = dict.fromkeys(_STRING_COLUMNS, pa.string()) | dict.fromkeys(_LIST_COLUMNS, pa.list_(pa.string()))
    types |= dict.fromkeys(_LINE_COLUMNS, pa.int32()) | dict.fromkeys(_BYTE_COLUMNS, pa.int64())
    types["symbols"] = pa.list_(_build_symbol_type())
    return pa.schema(
        [
            pa.field("id", pa.string()),
            pa.field("text", pa.string()),
            *(pa.field(name, types[name]) for name in METADATA_COLUMNS),
            pa.field("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


def build_chunk_table(ids: Sequence[str], texts: Sequence[str], metadata: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Build a table of chunks without vectors, column by column.

    Args:
        metadata: One `ChunkMetadata` for each chunk; missing keys get empty values.

    Raises:
        StoreError: The metadata has an unknown key or a value of the wrong type.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    for chunk_id, chunk_metadata in zip(ids, metadata, strict=True):
        if not chunk_metadata.keys() <= _METADATA_KEYS:
            unknown_keys = ", ".join(sorted(chunk_metadata.keys() - _METADATA_KEYS))
            message = f"Chunk {chunk_id} has unknown metadata keys: {unknown_keys}"
            raise StoreError(message)
    try:
        columns = {"id": _to_string_array(ids), "text": _to_string_array(texts)}
        for name in _STRING_COLUMNS:
            columns[name] = _to_string_array([chunk_metadata.get(name, "") for chunk_metadata in metadata])
        for name in _LIST_COLUMNS:
            columns[name] = _to_string_list_array([chunk_metadata.get(name, ()) for chunk_metadata in metadata])
        for name in _LINE_COLUMNS:
            columns[name] = pa.array(_collect_integers(metadata, name), pa.int32())
        for name in _BYTE_COLUMNS:
            columns[name] = pa.array(_collect_integers(metadata, name), pa.int64())
        columns["symbols"] = to_symbol_list_array([chunk_metadata.get("symbols", ()) for chunk_metadata in metadata])
    except (pa.ArrowException, TypeError, AttributeError, ValueError, KeyError, OverflowError) as error:
        message = f"A chunk cannot be stored: {error!r}"
        raise StoreError(message) from error
    names = ["id", "text", *METADATA_COLUMNS]
    return pa.table([columns[name] for name in names], names=names)


def append_vectors(chunks: "pa.Table", vectors: FloatArray) -> "pa.Table":
    """Append vectors, float32 (n_chunks, dimension), to a table of `build_chunk_table` as its last column."""
    return chunks.append_column("vector", to_vector_column(vectors)).cast(build_chunk_schema(vectors.shape[1]))


def build_node_table(nodes: "Sequence[BaseNode]") -> "pa.Table":
    """Build a table without vectors from LlamaIndex nodes. Raises as `build_chunk_table`."""
    return build_chunk_table(
        [node.node_id for node in nodes],
        [cast("Any", node).text for node in nodes],
        [node.metadata for node in nodes],
    )


def to_node_table(nodes: "Sequence[BaseNode]", vectors: FloatArray) -> "pa.Table":
    """Build a table from LlamaIndex nodes and vectors, float32 (n_nodes, dimension). Raises as `build_chunk_table`."""
    return append_vectors(build_node_table(nodes), vectors)


def to_vector_column(vectors: FloatArray) -> "pa.Array":
    """Convert a matrix to a column of fixed-size lists, without a copy."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    flat = np.ascontiguousarray(vectors, np.float32).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), vectors.shape[1])


def to_metadata(table: "pa.Table") -> list[ChunkMetadata]:
    """Return the metadata of each row of a chunk table."""
    return cast("list[ChunkMetadata]", table.select(METADATA_COLUMNS).to_pylist())


def to_file_table(files: Sequence[FileRecord], contents: FloatArray, paths: FloatArray) -> "pa.Table":
    """Build the file table from file records and their vectors.

    Args:
        files: Every file record.
        contents: Content vectors, float32 (number of indexed files, dimension); other files have none.
        paths: Path vectors, in the same shape.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    columns: dict[str, pa.Array] = {
        name: _to_string_array([getattr(file, name) for file in files]) for name in _FILE_STRING_COLUMNS
    }
    columns |= {name: pa.array([getattr(file, name) for file in files], pa.int64()) for name in _FILE_NUMBER_COLUMNS}
    indexed = np.fromiter((file.outcome == "indexed" for file in files), bool, len(files))
    for name, matrix in (("vector", contents), ("path_vector", paths)):
        ends = np.concatenate([[0], np.cumsum(indexed, dtype=np.int32) * matrix.shape[1]]).astype(np.int32)
        flat = np.ascontiguousarray(matrix, np.float32).reshape(-1)
        columns[name] = pa.ListArray.from_arrays(pa.array(ends), pa.array(flat))
    return pa.table(columns)


def to_file_records(table: "pa.Table") -> list[FileRecord]:
    """Convert a file table to file records."""
    names = [name for name in FileRecord.__slots__ if name in table.column_names]
    columns = [table[name].to_pylist() for name in names]
    return [FileRecord(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def to_file_vector_matrix(column: "pa.ChunkedArray", dimension: int) -> FloatArray:
    """Convert a column of file vectors to float32 (n_files, dimension); a file without a vector gets zeros."""
    array = column.combine_chunks()
    matrix = np.zeros((len(array), dimension), np.float32)
    has_vector = array.value_lengths().to_numpy(zero_copy_only=False) > 0
    matrix[has_vector] = array.flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension)
    return matrix


def _build_symbol_type() -> "pa.DataType":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    fields = [(name, pa.string()) for name in _SYMBOL_STRING_FIELDS] + [
        (name, pa.int32()) for name in _SYMBOL_LINE_FIELDS
    ]
    return pa.struct(fields)


def _to_string_array(values: Sequence[str]) -> "pa.Array":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array([to_utf8(value) for value in values], pa.string())


def _collect_integers(metadata: Sequence[Mapping[str, Any]], name: str) -> list[int]:
    return [chunk_metadata.get(name, 0) for chunk_metadata in metadata]


def _compute_offsets(lists: Sequence[Sequence[object]]) -> "pa.Array":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    ends = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, lists), np.int32, len(lists)), out=ends[1:])
    return pa.array(ends)


def _to_string_list_array(lists: Sequence[Sequence[str]]) -> "pa.Array":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return pa.ListArray.from_arrays(
        _compute_offsets(lists), _to_string_array([value for values in lists for value in values])
    )


def to_symbol_list_array(lists: Sequence[Sequence[Mapping[str, Any]]]) -> "pa.ListArray":
    """Convert the symbols of each chunk to a column."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    flat = [symbol for symbols in lists for symbol in symbols]
    children = [_to_string_array([symbol[name] for symbol in flat]) for name in _SYMBOL_STRING_FIELDS]
    children += [pa.array([symbol[name] for symbol in flat], pa.int32()) for name in _SYMBOL_LINE_FIELDS]
    structs = pa.StructArray.from_arrays(children, fields=list(_build_symbol_type()))
    return pa.ListArray.from_arrays(_compute_offsets(lists), structs)
