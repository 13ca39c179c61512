"""Overlay of changed, added and deleted files over a generation, in memory.

Its rows are those of the generation without the overlaid files, followed by the new ones: the result of an index run.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.schema.chunks import FileRecord
from coderag.stores.facts_codec import PackedFacts
from coderag.stores.field_counts import FieldCounts
from coderag.stores.graph_tables import GraphTables, build_empty_graph
from coderag.stores.pointer import Pointer
from coderag.stores.protocols import GraphBuilder
from coderag.stores.snapshot import CHUNK_COLUMNS, Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class FreshChunks:
    """Chunks of one file in its current state.

    Attributes:
        table: See `coderag.stores.arrow.build_chunk_table`.
        counts: Term counts, over a prefix of the vocabulary.
        vectors: float32 (n_chunks, dimension).
        content, path: float32 (dimension,), the vectors of the file and of its path.
    """

    table: "pa.Table"
    counts: FieldCounts
    vectors: FloatArray
    content: FloatArray
    path: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class FreshFile:
    """File in its current state: its record, chunks and facts, as an index run would store them."""

    record: FileRecord
    chunks: FreshChunks | None = None
    facts: PackedFacts | None = None


@dataclass(frozen=True, slots=True)
class FreshFiles:
    """Files that replace those of a generation.

    Attributes:
        files: Files that were read again, by path.
        removed: Paths of files that were deleted or are to be hidden.
        terms: Vocabulary that extends the generation's.
        arrays: Arrays to attach; see `Snapshot.read_arrays`.
    """

    files: Mapping[str, FreshFile]
    removed: Set[str]
    terms: Sequence[str]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class OverlaySnapshot:
    """Generation with the current state of some files. Several threads may read it.

    Args:
        base: The generation.
        fresh: The files.
        builder: Builds the code graph when it is first read.
    """

    def __init__(self, base: Snapshot, fresh: FreshFiles, builder: GraphBuilder) -> None:
        self.base = base
        self.fresh = fresh
        self._builder = builder
        files = [
            record
            for record in base.read_files()
            if record.path not in fresh.files and record.path not in fresh.removed
        ]
        files += [file.record for file in fresh.files.values()]
        self._files = sorted(files, key=lambda record: record.path)

    @cached_property
    def pointer(self) -> Pointer:
        """Pointer of the generation, with the current number of chunks and files."""
        return replace(self.base.pointer, chunks=len(self), files=len(self._files))

    def __len__(self) -> int:
        return self.n_kept + sum(len(part.table) for part in self._fresh_chunks)

    @property
    def directory(self) -> Path:
        """The index's directory."""
        return self.base.directory

    def raise_damage(self, timeout_s: float) -> None:
        """Raise the error of a damaged file of the generation, see `Snapshot.raise_damage`."""
        self.base.raise_damage(timeout_s)

    @cached_property
    def kept_runs(self) -> list[tuple[int, int]]:
        """Runs of the generation's rows that are kept, as (start, end)."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s
        import pyarrow.compute as pc  # noqa: PLC0415

        replaced_paths = pa.array(sorted({*self.fresh.files, *self.fresh.removed}), pa.string())
        keep_mask = ~pc.is_in(self.base.read_chunks(["path"])["path"], value_set=replaced_paths).to_numpy()
        edges = np.flatnonzero(np.diff(keep_mask, prepend=False, append=False)).tolist()
        return list(zip(edges[::2], edges[1::2], strict=True))

    @cached_property
    def n_kept(self) -> int:
        """Number of rows kept from the generation."""
        return sum(end - start for start, end in self.kept_runs)

    @cached_property
    def _fresh_chunks(self) -> list[FreshChunks]:
        files = self.fresh.files
        return [chunks for path in sorted(files) if (chunks := files[path].chunks) is not None]

    def read_chunks(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """Return columns of the chunk table; see `Snapshot.read_chunks`."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        names = list(CHUNK_COLUMNS if columns is None else columns)
        table = self.base.read_chunks(names)
        kept_tables = [table.slice(start, end - start) for start, end in self.kept_runs]
        fresh_tables = [part.table.select(names).cast(table.schema) for part in self._fresh_chunks]
        return pa.concat_tables([table.slice(0, 0), *kept_tables, *fresh_tables])

    def read_vectors(self) -> FloatArray:
        """Return the vectors: float32 (n_chunks, dimension), normalised, read-only."""
        return self._vectors

    @cached_property
    def _vectors(self) -> FloatArray:
        old = self.base.read_vectors()
        vectors = np.concatenate(
            [
                old[:0],
                *(old[start:end] for start, end in self.kept_runs),
                *(chunks.vectors for chunks in self._fresh_chunks),
            ]
        )
        vectors.setflags(write=False)
        return vectors

    def read_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of some chunks, in the order of the given rows."""
        old = {row: self.find_base_row(row) for row in map(int, rows) if row < self.n_kept}
        stored = dict(zip(old, self.base.read_texts(list(old.values())), strict=True))
        return [stored[row] if row in stored else self.get_fresh_text(row) for row in map(int, rows)]

    def find_base_row(self, row: int) -> int:
        """Map a kept row to its row in the generation."""
        run = bisect_right(self._run_starts, row) - 1
        return self.kept_runs[run][0] + row - self._run_starts[run]

    def get_fresh_text(self, row: int) -> str:
        """Return the text of a row that the overlay added."""
        return self._fresh_texts[row - self.n_kept]

    @cached_property
    def _run_starts(self) -> list[int]:
        lengths = [end - start for start, end in self.kept_runs]
        return [0, *accumulate(lengths[:-1])]

    @cached_property
    def _fresh_texts(self) -> list[str]:
        return [text for part in self._fresh_chunks for text in part.table["text"].to_pylist()]

    def read_counts(self) -> FieldCounts:
        """Return the term counts, row by row."""
        return self._counts

    @cached_property
    def _counts(self) -> FieldCounts:
        old, parts = self.base.read_counts(), [chunks.counts for chunks in self._fresh_chunks]
        keep_mask = np.zeros(len(old) + sum(map(len, parts)), bool)
        keep_mask[len(old) :] = True
        for start, end in self.kept_runs:
            keep_mask[start:end] = True
        return FieldCounts.concat([old, *parts], len(self.fresh.terms), keep_mask)

    def read_terms(self) -> list[str]:
        """Return the vocabulary; column j of the counts belongs to term j."""
        return list(self.fresh.terms)

    def read_files(self) -> list[FileRecord]:
        """Return the record of every candidate file, by path."""
        return self._files

    def read_file_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return (content, path), each float32 (n_files, dimension) in the order of `files`, zeros if not indexed."""
        return self._file_vectors

    @cached_property
    def _file_vectors(self) -> tuple[FloatArray, FloatArray]:
        old = self.base.read_file_vectors()
        rows_by_path = {record.path: row for row, record in enumerate(self.base.read_files())}
        rows = [row for row, record in enumerate(self._files) if record.path not in self.fresh.files]
        old_rows = [rows_by_path[self._files[row].path] for row in rows]
        matrices = [np.zeros((len(self._files), matrix.shape[1]), np.float32) for matrix in old]
        for target, matrix in zip(matrices, old, strict=True):
            target[rows] = matrix[old_rows]
        for row, record in enumerate(self._files):
            fresh = self.fresh.files.get(record.path)
            if fresh is not None and fresh.chunks is not None:
                matrices[0][row], matrices[1][row] = fresh.chunks.content, fresh.chunks.path
        return matrices[0], matrices[1]

    def find_nearest(self, vector: FloatArray, k: int, where: str | None = None) -> list[tuple[int, float]]:
        """Return rows and cosines of the nearest chunks, best first, by comparing all of them.

        Raises:
            StoreError: A filter is given; only Lance supports filters, on stored rows.
        """
        from coderag.stores.corpus import compute_dot_products  # noqa: PLC0415  # scipy takes 0.3 s

        if where is not None:
            raise StoreError(
                "Filters apply only to the stored index, not to edited files",
                hint="Omit the filter, or run `coderag index`.",
            )
        query = np.asarray(vector, np.float32)
        if k <= 0 or not query.any():
            return []
        cosines = compute_dot_products(self.read_vectors(), query / np.float32(np.linalg.norm(query)))
        matching = np.flatnonzero(self.read_vectors().any(axis=1))
        best = matching[np.argsort(-cosines[matching], kind="stable")[:k]]
        return [(int(row), float(cosines[row])) for row in best]

    def read_graph(self) -> GraphTables:
        """Return the code graph without its facts."""
        return self._graph

    @cached_property
    def _graph(self) -> GraphTables:
        last = self.base.read_graph()._replace(facts=self.base.read_facts())
        facts = {path: file.facts for path, file in self.fresh.files.items() if file.facts is not None}
        built = self._builder.build(last, self._files, facts)
        return built._replace(facts=build_empty_graph().facts)

    def read_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the attached arrays, by name."""
        return dict(self.fresh.arrays)
