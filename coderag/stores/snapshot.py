"""Consistent view of one generation of the index."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.schema.chunks import FileRecord
from coderag.stores import arrow, lance_table, lexical_files
from coderag.stores.disk import map_storage_errors
from coderag.stores.field_counts import FieldCounts
from coderag.stores.generation_files import ContentCheck, check_files
from coderag.stores.graph_tables import GraphTables, build_empty_graph
from coderag.stores.pointer import FORMAT_DIRECTORY, REBUILD_HINT, Pointer, read_pointer

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

FloatArray = NDArray[np.float32]

CHUNK_COLUMNS = ("id", *arrow.METADATA_COLUMNS)
"""Default columns of `Snapshot.read_chunks`."""


class Snapshot:
    """One generation, loaded lazily; each part is read once and cached.

    It stays readable while writers commit. A generation's files are deleted when two newer ones exist and it was
    replaced more than ten minutes or eight commits ago. Loaded parts stay usable; further reads raise a `StoreError`,
    after which `IndexStore.open` returns the current generation.

    Args:
        directory: The index's directory.
        pointer: The generation to read.
    """

    def __init__(self, directory: Path, pointer: Pointer) -> None:
        self.pointer = pointer
        self._directory = directory
        self._prefetched_facts: pa.Table | None = None

    def __len__(self) -> int:
        return self.pointer.chunks

    @property
    def directory(self) -> Path:
        """The index's directory."""
        return self._directory

    def read_chunks(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """Return columns of the chunk table, row by row.

        Args:
            columns: Names of columns; by default ``id`` and the metadata, without ``text`` and ``vector``.
        """
        if columns is None:
            return self._metadata
        if "_metadata" in self.__dict__ and set(columns) <= set(CHUNK_COLUMNS):
            return self._metadata.select(list(columns))
        with self._map_read_errors("the chunks"):
            return self._chunk_dataset.to_table(columns=list(columns))

    def read_vectors(self) -> FloatArray:
        """Return the vectors: float32 (n_chunks, dimension), normalised, read-only."""
        return self._vectors

    def read_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of some chunks, in the order of the given rows."""
        if not len(rows):
            return []
        row_numbers = [int(row) for row in rows]
        if min(row_numbers) < 0 or max(row_numbers) >= len(self):
            message = f"row out of range: the index has {len(self)} chunks"
            raise IndexError(message)
        with self._map_read_errors("texts"):
            texts: list[str] = self._chunk_dataset.take(row_numbers, columns=["text"]).column(0).to_pylist()
        return texts

    def take(self, rows: "NDArray[np.integer]", columns: Sequence[str]) -> "pa.Table":
        """Return columns of some chunks, in the order of the given rows, without reading others."""
        with self._map_read_errors("some chunks"):
            return self._chunk_dataset.take(rows.tolist(), columns=list(columns))

    def read_counts(self) -> FieldCounts:
        """Return the term counts, row by row."""
        return self._counts

    def read_terms(self) -> list[str]:
        """Return the vocabulary; column j of the counts belongs to term j."""
        return self._terms

    def read_files(self) -> list[FileRecord]:
        """Return the record of every candidate file, in commit order."""
        return self._files

    def read_file_paths(self) -> list[str]:
        """Return the paths of `read_files` without the other columns."""
        with self._map_read_errors("the files"):
            paths: list[str] = self._file_dataset.to_table(columns=["path"])["path"].to_pylist()
        return paths

    def read_file_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return (content, path), each float32 (n_files, dimension) in the order of `files`, zeros if not indexed."""
        return self._file_vectors

    def find_nearest(self, vector: FloatArray, k: int, where: str | None = None) -> list[tuple[int, float]]:
        """Return the nearest chunks by Lance's search, for an index too large for a resident matrix.

        Args:
            vector: float32 (dimension,), non-zero, of any length.
            k: Number of chunks.
            where: Filter over the columns of the chunk table, built with `coderag.stores.sql`.

        Returns:
            Row and cosine, best first. Chunks whose vector is zero never match.
        """
        query = np.asarray(vector, np.float32)
        if query.shape != (self.pointer.embedding.dimension,):
            message = f"a vector of shape {query.shape} for an index of dimension {self.pointer.embedding.dimension}"
            raise StoreError(message)
        if not len(self) or k <= 0 or not query.any():
            return []
        with self._map_read_errors("nearest chunks"):
            return lance_table.find_nearest_rows(self._chunk_dataset, self._addresses, query, k, where)

    def read_graph(self) -> GraphTables:
        """Return the code graph without its facts; empty if the generation was committed without one."""
        return self._graph

    def read_edges(self, columns: Sequence[str]) -> "pa.Table":
        """Return columns of the edges of the code graph; the others are not read."""
        if "_graph" in self.__dict__:
            return self._graph.edges.select(list(columns))
        with self._map_read_errors("the code graph"):
            if "edges" not in self.pointer.tables:
                return build_empty_graph().edges.select(list(columns))
            return self._open_table("edges").to_table(columns=list(columns))

    def read_facts(self) -> "pa.Table":
        """Return the facts of the code graph, one row per file; they are large and not cached."""
        prefetched, self._prefetched_facts = self._prefetched_facts, None
        if prefetched is not None:
            return prefetched
        with self._map_read_errors("the facts"):
            return self._read_graph_table("facts") or build_empty_graph().facts

    def prefetch(self) -> None:
        """Read what an update needs; the facts are kept for one use."""
        self.read_counts()
        self.read_file_vectors()
        self.read_graph()
        self._prefetched_facts = self.read_facts()

    def check_files(self) -> None:
        """Reject a generation with missing, truncated or overwritten files. Takes a second for a gigabyte.

        Raises:
            StoreError: A file is damaged.
        """
        with self._map_read_errors("the files' sizes"):
            check_files(self._directory, self.pointer, depth="content")

    def raise_damage(self, timeout_s: float) -> None:
        """Raise the error of a damaged file that has been found since the chunks were opened.

        Args:
            timeout_s: Seconds to wait for the end of the check.

        Raises:
            StoreError: A file is damaged.
        """
        self._content_check.raise_damage(timeout_s)

    def read_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the attached arrays, by name (memory-mapped, read-only)."""
        return self._attached

    @cached_property
    def _content_check(self) -> ContentCheck:
        return ContentCheck(self._directory, self.pointer)

    @cached_property
    def _chunk_dataset(self) -> "lance.LanceDataset":
        with self._map_read_errors("the chunks"):
            return self._open_table("chunks")

    @cached_property
    def _file_dataset(self) -> "lance.LanceDataset":
        with self._map_read_errors("the files"):
            return self._open_table("files")

    @cached_property
    def _graph(self) -> GraphTables:
        empty = build_empty_graph()
        with self._map_read_errors("the code graph"):
            return empty._replace(
                nodes=self._read_graph_table("nodes") or empty.nodes,
                edges=self._read_graph_table("edges") or empty.edges,
            )

    def _read_graph_table(self, name: str) -> "pa.Table | None":
        return self._open_table(name).to_table() if name in self.pointer.tables else None

    def _open_table(self, name: str) -> "lance.LanceDataset":
        """Open a table after checking its files, which Lance trusts."""
        _ = self._content_check  # starts beside the import of Lance
        check_files(self._directory, self.pointer, subdirectory=f"lance/{name}.lance", depth="tail")
        return lance_table.LanceTable(build_table_path(self._directory, name)).open(self.pointer.tables[name])

    @cached_property
    def _addresses(self) -> NDArray[np.uint64]:
        return lance_table.read_row_addresses(self._chunk_dataset)

    @cached_property
    def _metadata(self) -> "pa.Table":
        with self._map_read_errors("the chunks"):
            return self._chunk_dataset.to_table(columns=list(CHUNK_COLUMNS))

    @cached_property
    def _vectors(self) -> FloatArray:
        with self._map_read_errors("the vectors"):
            matrix = lance_table.scan_vectors(self._chunk_dataset, self.pointer.embedding.dimension)
        matrix.setflags(write=False)
        return matrix

    @cached_property
    def _counts(self) -> FieldCounts:
        with self._map_read_errors("the term counts"):
            counts, stored = lexical_files.read_counts(self._arrays_directory, len(self._terms))
        actual = lexical_files.RowIds.from_column(self.read_chunks(["id"])["id"])
        return counts if stored.equals(actual) else counts.select(_match_rows_by_id(stored, actual))

    @cached_property
    def _terms(self) -> list[str]:
        with self._map_read_errors("the vocabulary"):
            # A truncated vocabulary would still be consistent with the arrays.
            check_files(self._directory, self.pointer, subdirectory=self.pointer.lexical, depth="tail")
            return lexical_files.read_terms(self._arrays_directory)

    @cached_property
    def _attached(self) -> dict[str, NDArray[Any]]:
        with self._map_read_errors("arrays"):
            return lexical_files.read_attached(self._arrays_directory)

    @cached_property
    def _files(self) -> list[FileRecord]:
        with self._map_read_errors("the files"):
            stored = set(self._file_dataset.schema.names)  # an index of an earlier version lacks some columns
            columns = [name for name in FileRecord.__slots__ if name in stored]
            return arrow.to_file_records(self._file_dataset.to_table(columns=columns))

    @cached_property
    def _file_vectors(self) -> tuple[FloatArray, FloatArray]:
        with self._map_read_errors("the files' vectors"):
            table = self._file_dataset.to_table(columns=["vector", "path_vector"])
            dimension = self.pointer.embedding.dimension
            content = arrow.to_file_vector_matrix(table["vector"], dimension)
            return content, arrow.to_file_vector_matrix(table["path_vector"], dimension)

    @property
    def _arrays_directory(self) -> Path:
        return self._directory / FORMAT_DIRECTORY / self.pointer.lexical

    @contextmanager
    def _map_read_errors(self, subject: str) -> Iterator[None]:
        """Map errors; report when the generation was replaced and deleted meanwhile."""
        try:
            with map_storage_errors(f"read {subject} of generation {self.pointer.generation}", hint=REBUILD_HINT):
                yield
        except StoreError as error:
            current = read_pointer(self._directory)
            if current is None or current.generation == self.pointer.generation:
                raise
            retained = {old.generation for old in current.retained}
            if self.pointer.generation in retained and self._arrays_directory.exists():  # else a commit is deleting it
                raise
            message = (
                f"Generation {self.pointer.generation} of the index was replaced by {current.generation} and deleted"
            )
            raise StoreError(message, hint="Open the index again.") from error


def build_table_path(directory: Path, name: str) -> Path:
    """Build the path of a table in an index directory."""
    return directory / FORMAT_DIRECTORY / "lance" / f"{name}.lance"


def _match_rows_by_id(stored: lexical_files.RowIds, actual: lexical_files.RowIds) -> NDArray[np.int64]:
    """Match each actual row with the stored row of the same id; equal ids are matched in order."""
    rows_by_id: dict[bytes, list[int]] = {}
    for row, chunk_id in enumerate(stored.to_list()):
        rows_by_id.setdefault(chunk_id, []).append(row)
    for rows in rows_by_id.values():
        rows.reverse()
    try:
        return np.array([rows_by_id[chunk_id].pop() for chunk_id in actual.to_list()], np.int64)
    except (KeyError, IndexError) as error:
        message = "The term counts belong to other chunks than those of the chunk table"
        raise StoreError(message, hint=REBUILD_HINT) from error
