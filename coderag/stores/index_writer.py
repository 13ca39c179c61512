"""Writer of an index: its changes become visible in one atomic commit."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from coderag.errors import IndexModelError, IndexVersionError, StoreError
from coderag.schema.chunks import FileRecord
from coderag.stores import arrow
from coderag.stores.disk import create_index_directory, map_storage_errors, sync_all
from coderag.stores.field_counts import FieldCounts
from coderag.stores.generation_files import check_files, fingerprint_files
from coderag.stores.graph_tables import GRAPH_TABLES, GraphTables
from coderag.stores.lance_table import LanceTable
from coderag.stores.lexical_files import remove_generation_arrays, write_generation_arrays
from coderag.stores.pending_chunks import PendingChunks
from coderag.stores.pointer import (
    FORMAT_DIRECTORY,
    REBUILD_HINT,
    EmbeddingInfo,
    Pointer,
    format_utc_now,
    read_pointer,
    write_pointer,
)
from coderag.stores.retention import compute_next_generation, find_unused_arrays, format_arrays_name, list_retained
from coderag.stores.snapshot import Snapshot, build_table_path
from coderag.stores.writer_lock import WriterLock
from coderag.text.tokenizer import TOKENIZER_VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

FloatArray = NDArray[np.float32]

FLUSH_ROWS = 16_384
FLUSH_BYTES = 32 << 20
"""The buffer is flushed at so many rows or bytes: few fragments, and bounded memory."""

_MAX_COMMIT_THREADS = 2 + 1 + len(GRAPH_TABLES)
"""Parallel writes of a commit: the chunks, their arrays, and each of the other tables."""

_match_array_name = re.compile(r"[A-Za-z0-9_.-]+").fullmatch

_CLOCK_GRANULARITY_NS = 2_000_000_000  # some file systems round times to two seconds

logger = logging.getLogger(__name__)


class IndexWriter:
    """Writer that collects changes to the current generation and commits them as the next.

    Use it in a ``with`` statement, which holds the writer's lock; uncommitted changes are discarded at its end. A
    writer may commit several times; each commit builds on the one before.

    Args:
        directory: Directory of the index, created if missing.
        timeout_s: Seconds to wait for the lock; negative waits forever.
        is_brief: Whether this writer holds the lock only briefly; others then wait for it, whatever their
            `timeout_s`.
    """

    def __init__(self, directory: Path, *, timeout_s: float = 0, is_brief: bool = False) -> None:
        self._directory = directory
        self._root = directory / FORMAT_DIRECTORY
        self._is_brief = is_brief
        self._lock = WriterLock(directory, timeout_s=timeout_s, is_brief=is_brief)
        self._tables = {
            name: LanceTable(build_table_path(directory, name)) for name in ("chunks", "files", *GRAPH_TABLES)
        }
        self._chunks = self._tables["chunks"]
        self._previous_pointer: Pointer | None = None
        self._failure: StoreError | None = None
        self._begin_changes(None)

    def __enter__(self) -> Self:
        self._prepare_directory()
        self._lock.acquire()
        try:
            self._begin_changes(self._load_current())
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release()

    @property
    def base(self) -> Snapshot | None:
        """Generation that the changes apply to; None for a first index and after `reset`.

        Raises:
            StoreError: The current generation is unusable; `reset` still starts a new one.
        """
        if self._failure:
            raise self._failure
        return self._base

    @property
    def is_first(self) -> bool:
        """Return whether there is no generation yet that searches could use."""
        return self._previous_pointer is None

    def reset(self) -> None:
        """Start from an empty index; the old generation stays readable until a commit."""
        self._failure = None
        self._discard()

    def remove(self, paths: Iterable[str]) -> None:
        """Remove all chunks of these files, including those added by this writer; unknown paths are ignored."""
        self._require_ready()
        self._pending.remove(paths)

    def add(self, chunks: "pa.Table", vectors: FloatArray, counts: FieldCounts, terms: Sequence[str]) -> None:
        """Add a batch of chunks; the buffer is flushed to disk as it fills.

        Args:
            chunks: Table of `arrow.build_chunk_table` or `arrow.build_node_table`; the chunks of a file are adjacent.
            vectors: float32 (n, dimension), normalised, row i for chunk i; zeros for a chunk without content.
            counts: Term counts, row i for chunk i.
            terms: Vocabulary. It starts with that of `base` and may only grow at its end.

        Raises:
            IndexModelError: The dimension differs from that of `base`.
            StoreError: The arguments are inconsistent.
            StorageFullError: No space is left.
        """
        self._require_ready()
        self._pending.check_batch(len(chunks), vectors, counts, terms)
        self._pending.add(chunks, counts, terms, vectors.shape[1])
        if not len(chunks):
            return
        self._buffer.append(arrow.append_vectors(chunks, vectors))
        if sum(map(len, self._buffer)) >= FLUSH_ROWS or sum(part.nbytes for part in self._buffer) >= FLUSH_BYTES:
            self._flush()

    def add_terms(self, terms: Iterable[str]) -> None:
        """Add terms to the vocabulary that no chunk contains. Nothing may be added afterwards."""
        self._require_ready()
        self._pending.add_terms(terms)

    def commit(
        self,
        files: Sequence[FileRecord],
        file_vectors: FloatArray,
        path_vectors: FloatArray,
        *,
        embedding: EmbeddingInfo,
        root_hash: str = "",
        build_graph: Callable[[], GraphTables] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> Snapshot:
        """Commit the changes durably as the current generation, and return it.

        Args:
            files: Records of all candidate files of the repository, not only of the changed ones.
            file_vectors: Content vectors, float32 (m, dimension), of all files or of the indexed files, in their
                order.
            path_vectors: Path vectors, in the same shape.
            embedding: Model of all vectors.
            root_hash: Digest of the index's inputs.
            build_graph: Builds the code graph of all files while the chunks are written. The graph of `base` is not
                carried over.
            arrays: Arrays to attach, by a name of letters, digits, ``_``, ``.`` and ``-``; `Snapshot.read_arrays`
                returns them. Those of `base` are not carried over.

        Raises:
            IndexModelError: The embedding differs from that of the chunks kept from `base`.
            StoreError: The arguments are inconsistent, or the index cannot be written.
            StorageFullError: No space is left; the current generation is unchanged.

        Errors of `build_graph` propagate.
        """
        self._require_ready()
        self._check_embedding(embedding)
        contents = _select_indexed_rows(files, file_vectors, embedding.dimension)
        paths = _select_indexed_rows(files, path_vectors, embedding.dimension)
        tables = {"files": arrow.to_file_table(files, contents, paths)}
        return self._commit_parts(_CommitParts(tables, {}, embedding, root_hash, dict(arrays or {}), build_graph))

    def commit_chunks(
        self,
        *,
        vectors: tuple[FloatArray, FloatArray] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> Snapshot:
        """Commit new chunks of the same files; everything else stays that of `base`.

        Args:
            vectors: New (content, path) vectors of all files, as for `commit`; None keeps them.
            arrays: As for `commit`.

        Raises:
            StoreError: There is no `base`, or as `commit`.
        """
        self._require_ready()
        if self._base is None:
            raise StoreError("There is no generation to replace the chunks of", hint="Run `coderag index` first.")
        base_pointer = self._base.pointer
        tables = {}
        if vectors is not None:
            files = self._base.read_files()
            rows = (_select_indexed_rows(files, matrix, base_pointer.embedding.dimension) for matrix in vectors)
            tables["files"] = arrow.to_file_table(files, *rows)
        kept_versions = {
            name: version for name, version in base_pointer.tables.items() if name != "chunks" and name not in tables
        }
        return self._commit_parts(
            _CommitParts(tables, kept_versions, base_pointer.embedding, base_pointer.root_hash, dict(arrays or {}))
        )

    def commit_graph(self, build_graph: Callable[[], GraphTables], *, root_hash: str) -> Snapshot:
        """Commit a code graph for the files of `base`; everything else stays that of `base`.

        Args:
            build_graph: Builds the graph.
            root_hash: Digest of the index's inputs.

        Raises:
            StoreError: There is no `base`, it has uncommitted changes, or as `commit`.
        """
        self._require_ready()
        if self._base is None or self._pending.has_changes:
            raise StoreError("There is no committed generation for this graph", hint="Run `coderag index` again.")
        pointer = self._base.pointer
        kept_versions = {name: pointer.tables[name] for name in ("chunks", "files")}
        return self._commit_parts(
            _CommitParts({}, kept_versions, pointer.embedding, root_hash, {}, build_graph, keeps_chunks=True)
        )

    # Lifecycle

    def _prepare_directory(self) -> None:
        with map_storage_errors(f"make {self._root}"):
            create_index_directory(self._directory)
            (self._root / "lance").mkdir(parents=True, exist_ok=True)

    def _release(self) -> None:
        self._discard()
        self._lock.release()

    def _load_current(self) -> Snapshot | None:
        """Load the generation to build on; remember the error if it is unusable."""
        self._previous_pointer, self._failure = None, None
        try:
            self._previous_pointer = read_pointer(self._directory)
        except IndexVersionError:
            return None  # an index in another format may coexist
        except StoreError as error:
            self._failure = error
            return None
        if self._previous_pointer is None:
            return None
        if self._previous_pointer.tokenizer != TOKENIZER_VERSION:
            message = f"The index has terms of tokenizer {self._previous_pointer.tokenizer}, not {TOKENIZER_VERSION}"
            self._failure = IndexVersionError(message, hint=REBUILD_HINT)
            return None
        try:
            self._check_complete(self._previous_pointer)
        except StoreError as error:
            self._failure = error
            return None
        return Snapshot(self._directory, self._previous_pointer)

    def _check_complete(self, pointer: Pointer) -> None:
        """Reject an incomplete generation: a run without changes would keep it."""
        if missing := [name for name in pointer.tables if not self._tables[name].exists()]:
            message = f"The index has no table of {missing[0]}"
            raise StoreError(message, hint=REBUILD_HINT)
        check_files(self._directory, pointer, depth="tail" if self._is_brief else "content")

    def _begin_changes(self, base: Snapshot | None) -> None:
        """Start a new set of changes."""
        self._base = base
        self._pending = PendingChunks(base, self._root)
        self._started_ns = time.time_ns() - _CLOCK_GRANULARITY_NS
        self._chunk_version: int | None = None
        self._is_prepared = False
        self._fragments: list[FragmentMetadata] = []
        self._buffer: list[pa.Table] = []

    def _discard(self) -> None:
        """Discard uncommitted changes and delete their files."""
        for fragment in self._fragments:
            for file in fragment.files:
                with suppress(OSError):
                    (self._chunks.path / "data" / file.path).unlink(missing_ok=True)
        self._pending.close()
        self._begin_changes(None)

    def _require_ready(self) -> None:
        if not self._lock.is_held:
            message = "The writer is used outside of its `with` statement"
            raise StoreError(message)
        if self._failure:
            raise self._failure

    def _check_embedding(self, embedding: EmbeddingInfo) -> None:
        if self._base is not None and self._base.pointer.embedding != embedding:
            message = f"The index was made with {self._base.pointer.embedding}, not {embedding}"
            raise IndexModelError(message, hint=REBUILD_HINT)
        if self._pending.dimension not in (0, embedding.dimension):
            message = f"Vectors of dimension {self._pending.dimension} by a model of dimension {embedding.dimension}"
            raise IndexModelError(message)

    # Writing

    def _prepare_chunks(self) -> None:
        """Make the base's version the latest, once, before the first write."""
        if not self._is_prepared:
            if self._base is None:
                self._chunks.rewind(None)
            else:
                self._chunk_version = self._chunks.rewind(self._base.pointer.tables["chunks"])
            self._delete_old_versions("chunks")
            self._is_prepared = True

    def _flush(self) -> None:
        """Write the buffer to Lance data files that belong to no version yet."""
        if not self._buffer:
            return
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        self._prepare_chunks()
        rows, self._buffer = pa.concat_tables(self._buffer), []
        try:
            self._fragments += self._chunks.write(rows, replace=self._base is None)
        except StoreError as error:
            self._failure = error  # these chunks are lost, so the writer must start over
            raise

    def _commit_chunks(self, keep_mask: NDArray[np.bool_], dimension: int) -> int:
        """Commit the chunk table, flush it to disk and return its version."""
        self._flush()
        self._prepare_chunks()
        dropped, dropped_added = self._pending.split_dropped_rows(keep_mask)
        if self._chunk_version is None:
            version = self._chunks.commit_replacement(
                self._fragments, arrow.build_chunk_schema(dimension).empty_table()
            )
        else:
            version = self._chunks.commit_changes(self._chunk_version, self._fragments, dropped)
        self._fragments = []
        version = self._chunks.compact(self._chunks.commit_changes(version, [], dropped_added))
        self._sync_table("chunks")
        return version

    def _replace_table(self, name: str, rows: "pa.Table", cleared: "Future[None]") -> int:
        """Write a whole table of files or of the graph, flush it to disk, and return its version.

        Args:
            cleared: Completes when old versions are deleted.
        """
        cleared.result()
        table = self._tables[name]
        table.rewind(None)
        version = table.replace(rows)
        self._sync_table(name)
        return version

    def _sync_table(self, name: str) -> None:
        """Flush the new files of a table to disk; Lance leaves them in the system's cache."""
        with map_storage_errors(f"write {self._root}"):
            sync_all(self._tables[name].list_written_since(self._started_ns))

    def _write_arrays(self, directory: Path, keep_mask: NDArray[np.bool_], attached: Mapping[str, NDArray[Any]]) -> int:
        """Write the arrays of all chunks and return the number of chunks."""
        counts = self._pending.read_counts(keep_mask)
        write_generation_arrays(
            directory, counts, self._pending.vocabulary, self._pending.build_ids(keep_mask), attached
        )
        return int(keep_mask.sum())

    def _commit_parts(self, parts: "_CommitParts") -> Snapshot:
        if invalid_names := [name for name in parts.arrays if not _match_array_name(name)]:
            message = f"{invalid_names[0]!r} is not a valid array name"
            raise StoreError(message)
        try:
            pointer = self._write_generation(parts)
        except BaseException:
            # Lance may be a version ahead of the pointer now, so the writer must start over.
            self._failure = StoreError("An earlier commit failed", hint="Run the command again.")
            raise
        self._previous_pointer = pointer
        snapshot = Snapshot(self._directory, pointer)
        self._pending.close()
        self._begin_changes(snapshot)
        return snapshot

    def _write_generation(self, parts: "_CommitParts") -> Pointer:
        generation = compute_next_generation(self._root, self._previous_pointer)
        base_pointer = self._base.pointer if self._base is not None and parts.keeps_chunks else None
        lexical = base_pointer.lexical if base_pointer else format_arrays_name(generation)
        chunk_futures: list[Future[int]] = []
        with ThreadPoolExecutor(_MAX_COMMIT_THREADS) as threads:  # Lance and disk I/O release the GIL
            if base_pointer is None:
                keep_mask = self._pending.compute_keep_mask()
                chunk_futures = [
                    threads.submit(self._commit_chunks, keep_mask, parts.embedding.dimension),
                    threads.submit(self._write_arrays, self._root / lexical, keep_mask, parts.arrays),
                ]
            cleared = {
                name: threads.submit(self._delete_old_versions, name) for name in self._tables if name != "chunks"
            }
            for directory in find_unused_arrays(self._root, self._previous_pointer, lexical):
                threads.submit(remove_generation_arrays, directory)
            try:
                table_futures = self._submit_replacements(threads, parts.tables, cleared)
                graph = parts.build_graph()._asdict() if parts.build_graph else {}
                table_futures |= self._submit_replacements(threads, graph, cleared)
                versions = {name: future.result() for name, future in table_futures.items()}
                n_chunks = base_pointer.chunks if base_pointer else 0
                if chunk_futures:
                    versions["chunks"], n_chunks = (future.result() for future in chunk_futures)
            except BaseException:
                _wait_for_threads(threads)
                raise
        tables = {**parts.tables, **graph}
        versions = {**parts.kept_versions, **versions}
        pointer = Pointer(
            generation=generation,
            tables=versions,
            lexical=lexical,
            embedding=parts.embedding,
            tokenizer=TOKENIZER_VERSION,
            created=format_utc_now(),
            repository=self._directory.resolve().parent.name,
            root_hash=parts.root_hash,
            chunks=n_chunks,
            files=_count_rows("files", tables, parts.kept_versions, self._base),
            edges=_count_rows("edges", tables, parts.kept_versions, self._base),
            retained=list_retained(self._previous_pointer),
            contents=self._fingerprint_generation(versions, lexical),
        )
        write_pointer(self._directory, pointer)
        return pointer

    def _fingerprint_generation(self, versions: Mapping[str, int], lexical: str) -> dict[str, tuple[int, ...]]:
        """Fingerprint all files of the next generation."""
        paths = [path for name, version in versions.items() for path in self._tables[name].list_version_files(version)]
        with map_storage_errors(f"read {self._root / lexical}"):
            paths += (self._root / lexical).iterdir()
        return fingerprint_files(self._directory, paths, {} if self._base is None else self._base.pointer.contents)

    def _submit_replacements(
        self, threads: ThreadPoolExecutor, tables: "Mapping[str, pa.Table]", cleared: "Mapping[str, Future[None]]"
    ) -> dict[str, Future[int]]:
        return {name: threads.submit(self._replace_table, name, rows, cleared[name]) for name, rows in tables.items()}

    def _delete_old_versions(self, name: str) -> None:
        """Delete the versions of a table that no retained generation uses; failures are only logged.

        It runs before a commit writes, while the graph is linked: there is time for it then.
        """
        table = self._tables[name]
        if self._previous_pointer is not None and table.path.exists():
            with _log_failed_cleanup():
                table.delete_versions_except(
                    [
                        generation.tables[name]
                        for generation in list_retained(self._previous_pointer)
                        if name in generation.tables
                    ]
                )


@dataclass(frozen=True, slots=True)
class _CommitParts:
    """Input of a commit besides the chunks.

    Attributes:
        tables: Tables to write, by name.
        kept_versions: Version of each unchanged table.
        build_graph: Builds the tables of the code graph.
        keeps_chunks: Whether the chunks and the arrays of the base are kept.
    """

    tables: "Mapping[str, pa.Table]"
    kept_versions: Mapping[str, int]
    embedding: EmbeddingInfo
    root_hash: str
    arrays: Mapping[str, NDArray[Any]]
    build_graph: Callable[[], GraphTables] | None = None
    keeps_chunks: bool = False


def _count_rows(
    name: Literal["files", "edges"],
    tables: "Mapping[str, pa.Table]",
    kept_versions: Mapping[str, int],
    base: Snapshot | None,
) -> int:
    """Count the rows of a written or kept table; 0 if there is none."""
    if name in tables:
        return int(tables[name].num_rows)
    return int(getattr(base.pointer, name)) if base is not None and name in kept_versions else 0


@contextmanager
def _log_failed_cleanup() -> Iterator[None]:
    """Log a failed deletion of old generations and continue."""
    try:
        yield
    except StoreError as error:
        logger.warning("Cannot delete old generations of the index: %s", error)


def _wait_for_threads(threads: ThreadPoolExecutor) -> None:
    """Wait until all writes have ended, despite interrupts: the lock must not be released before."""
    while True:
        try:
            threads.shutdown()
        except KeyboardInterrupt:
            continue
        return


def _select_indexed_rows(files: Sequence[FileRecord], matrix: FloatArray, dimension: int) -> FloatArray:
    """Select the rows of the indexed files from a matrix over all files or over the indexed ones."""
    indexed = np.fromiter((file.outcome == "indexed" for file in files), bool, len(files))
    count = int(indexed.sum())
    matrix = np.asarray(matrix, np.float32)
    if matrix.size == 0 and count == 0:
        return np.zeros((0, dimension), np.float32)
    if matrix.ndim != 2 or matrix.shape[1] != dimension or len(matrix) not in (count, len(files)):
        message = (
            f"File vectors of shape {matrix.shape} for {count} indexed of {len(files)} files in {dimension} dimensions"
        )
        raise StoreError(message)
    return matrix if len(matrix) == count else matrix[indexed]
