"""The one writer of an index: everything it does becomes visible at once, or not at all."""

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
from coderag.stores.disk import make_own_directory, storage_errors, sync_all
from coderag.stores.field_counts import FieldCounts
from coderag.stores.generation_files import check_files, note_files
from coderag.stores.graph_tables import GRAPH_TABLES, GraphTables
from coderag.stores.lexical_files import remove_generation_arrays, write_generation_arrays
from coderag.stores.pending_chunks import PendingChunks
from coderag.stores.pointer import (
    FORMAT_DIRECTORY,
    REBUILD_HINT,
    EmbeddingInfo,
    Pointer,
    read_pointer,
    utc_now,
    write_pointer,
)
from coderag.stores.retention import arrays_name, next_generation, retained_after, unused_arrays
from coderag.stores.snapshot import Snapshot, table_path
from coderag.stores.tables import LanceTable
from coderag.stores.writer_lock import WriterLock
from coderag.text.tokenizer import TOKENIZER_VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

FloatArray = NDArray[np.float32]

FLUSH_ROWS = 16_384
FLUSH_BYTES = 32 << 20
"""A buffer of so many rows or bytes is written: few fragments, and bounded memory."""

_AT_ONCE = 2 + 1 + len(GRAPH_TABLES)
"""What a commit writes at the same time: the chunks, their arrays, and each of the other tables."""

_ATTACHED_NAME = re.compile(r"[A-Za-z0-9_.-]+").fullmatch

_CLOCK_GRAIN_NS = 2_000_000_000  # some file systems round times to two seconds

logger = logging.getLogger(__name__)


class IndexWriter:
    """Collects changes to the current generation and commits them as the next one.

    Used in a ``with`` statement, which holds the writer's lock; what is not committed by its end never happened. A
    writer may commit several times; each commit starts from the one before.

    Args:
        directory: The index's directory, made if missing.
        timeout_s: Seconds to wait for the lock; negative waits for ever.
        is_brief: Whether this writer keeps the lock for a moment only: others then wait for it, whatever their `timeout_s`.
    """

    def __init__(self, directory: Path, *, timeout_s: float = 0, is_brief: bool = False) -> None:
        self._directory = directory
        self._root = directory / FORMAT_DIRECTORY
        self._lock = WriterLock(directory, timeout_s=timeout_s, is_brief=is_brief)
        self._tables = {name: LanceTable(table_path(directory, name)) for name in ("chunks", "files", *GRAPH_TABLES)}
        self._chunks = self._tables["chunks"]
        self._previous: Pointer | None = None
        self._broken: StoreError | None = None
        self._start(None)

    def __enter__(self) -> Self:
        self._prepare_directory()
        self._lock.acquire()
        try:
            self._start(self._current())
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
        """The generation that changes apply to; None for a first index and after `reset`.

        Raises:
            StoreError: The current generation cannot be used; `reset` starts a new one all the same.
        """
        if self._broken:
            raise self._broken
        return self._base

    def reset(self) -> None:
        """Start from nothing; the old generation stays readable until the commit, and if there is none."""
        self._broken = None
        self._discard()

    def remove(self, paths: Iterable[str]) -> None:
        """Drop all chunks of these files, those added by this writer included; unknown paths do nothing."""
        self._require_ready()
        self._pending.remove(paths)

    def add(self, chunks: "pa.Table", vectors: FloatArray, counts: FieldCounts, terms: Sequence[str]) -> None:
        """Add a batch of chunks; what is in the buffer goes to disk as it fills.

        Args:
            chunks: What `arrow.chunk_columns` or `arrow.node_columns` made; the chunks of one file in a row.
            vectors: float32 (n, dimension), normalised, row i for chunk i; a chunk without content may have zeros.
            counts: Term counts, row i for chunk i.
            terms: The vocabulary. It may have grown since the last call, but only at its end; the first call continues
                the vocabulary of `base`.

        Raises:
            IndexModelError: The vectors have another dimension than those of `base`.
            StoreError: The arguments do not fit together.
            StorageFullError: No space is left.
        """
        self._require_ready()
        self._pending.check(len(chunks), vectors, counts, terms)
        self._pending.add(chunks, counts, terms, vectors.shape[1])
        if not len(chunks):
            return
        self._buffer.append(arrow.with_vectors(chunks, vectors))
        if sum(map(len, self._buffer)) >= FLUSH_ROWS or sum(part.nbytes for part in self._buffer) >= FLUSH_BYTES:
            self._flush()

    def learn(self, terms: Iterable[str]) -> None:
        """Add terms to the vocabulary, of which no chunk has those that are new. Nothing may be added after that."""
        self._require_ready()
        self._pending.learn(terms)

    def commit(
        self,
        files: Sequence[FileRecord],
        file_vectors: FloatArray,
        path_vectors: FloatArray,
        *,
        embedding: EmbeddingInfo,
        root_hash: str = "",
        graph: Callable[[], GraphTables] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> Snapshot:
        """Make the changes the current generation, durably, and return it.

        Args:
            files: The record of every candidate file of the repository, not only of the changed ones.
            file_vectors: float32 (m, dimension), by content; m is the number of files, in their order, or that of the
                indexed files, in the same order.
            path_vectors: Likewise, by path.
            embedding: The model of all vectors.
            root_hash: Digest of what the index is made from.
            graph: Makes the code graph of all files, while the chunks are written. It is not carried over from `base`.
            arrays: More arrays that belong to this generation, by a name of letters, digits,
                ``_``, ``.`` and ``-``; `Snapshot.arrays` gives them back. They are not carried over from `base`.

        Raises:
            IndexModelError: The embedding is not that of the chunks kept from `base`.
            StoreError: The arguments do not fit together, or the index cannot be written.
            StorageFullError: No space is left; the current generation stays as it was.

        What `graph` raises is raised.
        """
        self._require_ready()
        self._check_embedding(embedding)
        contents = _indexed_rows(files, file_vectors, embedding.dimension)
        paths = _indexed_rows(files, path_vectors, embedding.dimension)
        tables = {"files": arrow.files_to_table(files, contents, paths)}
        return self._make_current(_Parts(tables, {}, embedding, root_hash, dict(arrays or {}), graph))

    def commit_chunks(
        self,
        *,
        vectors: tuple[FloatArray, FloatArray] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> Snapshot:
        """Make chunks that say other things about the same files the next generation; all else stays that of `base`.

        Args:
            vectors: New (content, path) vectors of all files, as for `commit`; None if they are the same.
            arrays: As for `commit`.

        Raises:
            StoreError: There is no `base`, or as `commit`.
        """
        self._require_ready()
        if self._base is None:
            raise StoreError("There is no generation whose chunks could be replaced", hint="Run `coderag index` first.")
        old = self._base.pointer
        tables = {}
        if vectors is not None:
            files = self._base.files()
            rows = (_indexed_rows(files, matrix, old.embedding.dimension) for matrix in vectors)
            tables["files"] = arrow.files_to_table(files, *rows)
        kept = {name: version for name, version in old.tables.items() if name != "chunks" and name not in tables}
        return self._make_current(_Parts(tables, kept, old.embedding, old.root_hash, dict(arrays or {})))

    # Starting and ending

    def _prepare_directory(self) -> None:
        with storage_errors(f"make {self._root}"):
            make_own_directory(self._directory)
            (self._root / "lance").mkdir(parents=True, exist_ok=True)

    def _release(self) -> None:
        self._discard()
        self._lock.release()

    def _current(self) -> Snapshot | None:
        """Return the generation to build upon; remember why, if there is one that cannot be used."""
        self._previous, self._broken = None, None
        try:
            self._previous = read_pointer(self._directory)
        except IndexVersionError:
            return None  # an index in another format lies beside ours and is no obstacle
        except StoreError as error:
            self._broken = error
            return None
        if self._previous is None:
            return None
        if self._previous.tokenizer != TOKENIZER_VERSION:
            message = f"The index has terms of tokenizer {self._previous.tokenizer}, not {TOKENIZER_VERSION}"
            self._broken = IndexVersionError(message, hint=REBUILD_HINT)
            return None
        try:
            self._check_whole(self._previous)
        except StoreError as error:
            self._broken = error
            return None
        return Snapshot(self._directory, self._previous)

    def _check_whole(self, pointer: Pointer) -> None:
        """Refuse a generation that lacks something: a run that changes nothing would keep it, and call it indexed."""
        if gone := [name for name in pointer.tables if not self._tables[name].exists()]:
            message = f"The index lacks its table of {gone[0]}"
            raise StoreError(message, hint=REBUILD_HINT)
        check_files(self._directory, pointer)

    def _start(self, base: Snapshot | None) -> None:
        """Begin a new set of changes."""
        self._base = base
        self._pending = PendingChunks(base)
        self._started_ns = time.time_ns() - _CLOCK_GRAIN_NS
        self._chunk_version: int | None = None
        self._prepared = False
        self._fragments: list[FragmentMetadata] = []
        self._buffer: list[pa.Table] = []

    def _discard(self) -> None:
        """Forget what was not committed, and free the space that it takes."""
        for fragment in self._fragments:
            for file in fragment.files:
                with suppress(OSError):
                    (self._chunks.path / "data" / file.path).unlink(missing_ok=True)
        self._start(None)

    def _require_ready(self) -> None:
        if not self._lock.is_held:
            message = "The writer is used outside of its `with` statement"
            raise StoreError(message)
        if self._broken:
            raise self._broken

    def _check_embedding(self, embedding: EmbeddingInfo) -> None:
        if self._base is not None and self._base.pointer.embedding != embedding:
            message = f"The index was made with {self._base.pointer.embedding}, not {embedding}"
            raise IndexModelError(message, hint=REBUILD_HINT)
        if self._pending.dimension not in (0, embedding.dimension):
            message = f"Vectors of dimension {self._pending.dimension} by a model of dimension {embedding.dimension}"
            raise IndexModelError(message)

    # Writing

    def _prepare_chunks(self) -> None:
        """Make the base's version the latest one, once, before the first write."""
        if not self._prepared:
            if self._base is None:
                self._chunks.rewind(None)
            else:
                self._chunk_version = self._chunks.rewind(self._base.pointer.tables["chunks"])
            self._clear_table("chunks")
            self._prepared = True

    def _flush(self) -> None:
        """Write the buffer to Lance's data files, which belong to no version yet."""
        if not self._buffer:
            return
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        self._prepare_chunks()
        rows, self._buffer = pa.concat_tables(self._buffer), []
        try:
            self._fragments += self._chunks.write(rows, replace=self._base is None)
        except StoreError as error:
            self._broken = error  # these chunks are lost: what follows must begin anew
            raise

    def _commit_chunks(self, kept: NDArray[np.bool_], dimension: int) -> int:
        """Commit the chunk table, force it to the disk and return its version."""
        self._flush()
        self._prepare_chunks()
        dropped, then_dropped = self._pending.dropped_rows(kept)
        if self._chunk_version is None:
            version = self._chunks.commit_replaced(self._fragments, arrow.chunk_schema(dimension).empty_table())
        else:
            version = self._chunks.commit_changes(self._chunk_version, self._fragments, dropped)
        self._fragments = []
        version = self._chunks.compact(self._chunks.commit_changes(version, [], then_dropped))
        self._sync("chunks")
        return version

    def _replace(self, name: str, rows: "pa.Table", cleared: "Future[None]") -> int:
        """Write the table of files or one of the graph whole, force it to the disk, and return its version.

        Args:
            cleared: Ends when old versions are no longer being deleted.
        """
        cleared.result()
        table = self._tables[name]
        table.rewind(None)
        version = table.replace(rows)
        self._sync(name)
        return version

    def _sync(self, name: str) -> None:
        """Force to the disk what was written of a table: Lance leaves it to the system's cache."""
        with storage_errors(f"write {self._root}"):
            sync_all(self._tables[name].written_since(self._started_ns))

    def _write_arrays(self, directory: Path, kept: NDArray[np.bool_], attached: Mapping[str, NDArray[Any]]) -> int:
        """Write the arrays of all chunks, and return the number of chunks."""
        counts = self._pending.counts(kept)
        write_generation_arrays(directory, counts, self._pending.vocabulary, self._pending.ids(kept), attached)
        return len(counts)

    def _make_current(self, parts: "_Parts") -> Snapshot:
        if wrong := [name for name in parts.arrays if not _ATTACHED_NAME(name)]:
            message = f"{wrong[0]!r} cannot be the name of an array"
            raise StoreError(message)
        try:
            pointer = self._commit(parts)
        except BaseException:
            # Lance may be a version ahead of the pointer now: what follows must begin anew.
            self._broken = StoreError("A commit failed before", hint="Run the command again.")
            raise
        self._previous = pointer
        snapshot = Snapshot(self._directory, pointer)
        self._start(snapshot)
        return snapshot

    def _commit(self, parts: "_Parts") -> Pointer:
        generation = next_generation(self._root, self._previous)
        lexical = arrays_name(generation)
        kept = self._pending.kept_rows()
        with ThreadPoolExecutor(_AT_ONCE) as threads:  # Lance and the disk work without Python's lock
            committed = threads.submit(self._commit_chunks, kept, parts.embedding.dimension)
            written = threads.submit(self._write_arrays, self._root / lexical, kept, parts.arrays)
            cleared = {name: threads.submit(self._clear_table, name) for name in self._tables if name != "chunks"}
            for directory in unused_arrays(self._root, self._previous, lexical):
                threads.submit(remove_generation_arrays, directory)
            try:
                replaced = self._replaced(threads, parts.tables, cleared)
                graph = parts.graph()._asdict() if parts.graph else {}
                replaced |= self._replaced(threads, graph, cleared)
                versions = {name: future.result() for name, future in replaced.items()}
                chunk_version, n_chunks = committed.result(), written.result()
            except BaseException:
                _wait_out(threads)
                raise
        tables = {**parts.tables, **graph}
        versions = {"chunks": chunk_version, **parts.kept, **versions}
        pointer = Pointer(
            generation=generation,
            tables=versions,
            lexical=lexical,
            embedding=parts.embedding,
            tokenizer=TOKENIZER_VERSION,
            created=utc_now(),
            repository=self._directory.resolve().parent.name,
            root_hash=parts.root_hash,
            chunks=n_chunks,
            files=_n_rows("files", tables, parts.kept, self._base),
            edges=_n_rows("edges", tables, parts.kept, self._base),
            retained=retained_after(self._previous),
            contents=self._contents(versions, lexical),
        )
        write_pointer(self._directory, pointer)
        return pointer

    def _contents(self, versions: Mapping[str, int], lexical: str) -> dict[str, tuple[int, int]]:
        """Return what is noted of all files that the next generation is read from."""
        paths = [path for name, version in versions.items() for path in self._tables[name].files_of(version)]
        with storage_errors(f"read {self._root / lexical}"):
            paths += (self._root / lexical).iterdir()
        return note_files(self._directory, paths, {} if self._base is None else self._base.pointer.contents)

    def _replaced(
        self, threads: ThreadPoolExecutor, tables: "Mapping[str, pa.Table]", cleared: "Mapping[str, Future[None]]"
    ) -> dict[str, Future[int]]:
        return {name: threads.submit(self._replace, name, rows, cleared[name]) for name, rows in tables.items()}

    def _clear_table(self, name: str) -> None:
        """Delete the versions of a table that no retained generation has; failing at it fails nothing.

        It is done before a commit writes, and while the graph is linked: there is time for it then.
        """
        table = self._tables[name]
        if self._previous is not None and table.path.exists():
            with _told():
                table.keep_only([one.tables[name] for one in retained_after(self._previous) if name in one.tables])


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a commit is made of beside the chunks.

    Attributes:
        tables: Those to be written, by name.
        kept: Version of each table that stays.
        graph: Makes those of the code graph.
    """

    tables: "Mapping[str, pa.Table]"
    kept: Mapping[str, int]
    embedding: EmbeddingInfo
    root_hash: str
    arrays: Mapping[str, NDArray[Any]]
    graph: Callable[[], GraphTables] | None = None


def _n_rows(
    name: Literal["files", "edges"], tables: "Mapping[str, pa.Table]", kept: Mapping[str, int], base: Snapshot | None
) -> int:
    """Return how many rows a table has, one that was written or is kept: none if there is no such table."""
    if name in tables:
        return int(tables[name].num_rows)
    return int(getattr(base.pointer, name)) if base is not None and name in kept else 0


@contextmanager
def _told() -> Iterator[None]:
    """Tell of what fails in the block, and go on."""
    try:
        yield
    except StoreError as error:
        logger.warning("Old generations of the index were not deleted: %s", error)


def _wait_out(threads: ThreadPoolExecutor) -> None:
    """Wait until nothing is written any more, whoever interrupts: the lock must not be released before."""
    while True:
        try:
            threads.shutdown()
        except KeyboardInterrupt:
            continue
        return


def _indexed_rows(files: Sequence[FileRecord], matrix: FloatArray, dimension: int) -> FloatArray:
    """Return the rows of a matrix over all files, or over the indexed ones, that belong to the indexed files."""
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
