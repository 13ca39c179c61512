"""Bring the index up to date with the files on disk: scan, read what changed, chunk, count, embed, commit."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from llama_index.core.schema import Document
from numpy.typing import NDArray

from coderag.ingestion.changes import Changes, ReadFile, count_renames, find_changes, read_files, tree_hash
from coderag.ingestion.declarations import collector_paused
from coderag.ingestion.pipeline import PIPELINE_VERSION, ChunkPipeline, PipelineBatch
from coderag.ingestion.scanner import scan
from coderag.models.dense import DenseModel, check_embedding
from coderag.schema import FileRecord, IndexProgress, IndexReport
from coderag.settings import Settings
from coderag.stores.index_store import IndexStore
from coderag.stores.index_writer import IndexWriter
from coderag.stores.pointer import EmbeddingInfo, Pointer

Progress = Callable[[IndexProgress], None]
FloatArray = NDArray[np.float32]


class Indexer:
    """One run of indexing.

    Args:
        root: Folder of the repository.
        settings: The repository's settings.
        store: Where the index lives.
        model: The dense model.
        progress: Called as the run goes on.
    """

    def __init__(
        self, root: Path, settings: Settings, store: IndexStore, model: DenseModel, progress: Progress | None = None
    ) -> None:
        self._root = root
        self._settings = settings
        self._store = store
        self._model = model
        self._progress = progress or (lambda _: None)
        self._repository = settings.project or root.name
        self._fingerprint = fingerprint(settings, self._repository)
        self._seconds: dict[str, float] = {}
        self._records: dict[str, FileRecord] = {}
        self._vectors: dict[str, tuple[FloatArray, FloatArray]] = {}

    def run(self, *, full: bool = False) -> IndexReport:
        """Bring the index up to date and return what was done.

        Args:
            full: Build everything anew, even what has not changed.

        Raises:
            IngestionError: The repository cannot be read.
            IndexModelError: The index has vectors of another model, and `full` was not asked for.
            StoreError: The index cannot be written; the last generation is intact.
        """
        with self._store.writer() as writer:
            if full:
                writer.reset()
            pointer = writer.base.pointer if writer.base is not None else None  # an empty index is false
            if pointer:
                check_embedding(pointer.embedding, self._model)
                if _fingerprint(pointer.root_hash) != self._fingerprint:
                    writer.reset()
                    pointer = None
            changes = self._find_changes(writer, pointer)
            report = self._apply(writer, changes, pointer)
        self._progress(IndexProgress("commit", 1, 1))
        return report

    def _find_changes(self, writer: IndexWriter, pointer: Pointer | None) -> Changes:
        self._progress(IndexProgress("scan", 0, 0))
        with self._timed("scan"):
            found = scan(
                self._root,
                max_file_bytes=self._settings.ingestion.max_file_bytes,
                exclude=self._settings.ingestion.exclude,
            )
            records = writer.base.files() if writer.base is not None else []
            changes = find_changes(found, records, pointer.created if pointer else "")
        self._records = {record.path: record for record in (*found.skipped, *changes.kept)}
        return changes

    def _apply(self, writer: IndexWriter, changes: Changes, pointer: Pointer | None) -> IndexReport:
        tally = _Tally()
        writer.remove(changes.removed)
        pipeline = ChunkPipeline(
            self._settings.ingestion,
            self._model,
            writer.base.terms() if writer.base is not None else (),
            self._repository,
        )
        stored = 0
        for batch in self._batches(self._new_files(writer, changes, tally)):
            self._store_batch(writer, pipeline, batch)
            stored += len(batch)
            self._progress(IndexProgress("chunk", stored, len(changes.changed)))
        for path in changes.removed:
            tally.removed.append(changes.known[path])
        tally.unchanged += sum(record.outcome == "indexed" for record in changes.kept)
        return self._commit(writer, pointer, tally)

    def _new_files(self, writer: IndexWriter, changes: Changes, tally: "_Tally") -> Iterator[ReadFile]:
        """Yield the files to index; note for the others what became of them."""
        total = len(changes.changed)
        limit = self._settings.ingestion.max_file_bytes
        for done, file in enumerate(read_files(self._root, changes.changed, limit), 1):
            record, old = file.record, changes.known.get(file.record.path)
            was_indexed = old is not None and old.outcome == "indexed"
            if old and was_indexed and record.outcome == "indexed" and old.hash == record.hash:
                self._records[record.path] = replace(old, mtime_ns=record.mtime_ns)
                tally.unchanged += 1
            else:
                if was_indexed:
                    writer.remove([record.path])
                self._records[record.path] = record
                tally.note(record, old)
                if file.source is not None:
                    yield file
            self._progress(IndexProgress("read", done, total))

    def _batches(self, files: Iterator[ReadFile]) -> Iterator[list[ReadFile]]:
        """Yield files in batches of about `ingestion.batch_bytes` of text."""
        batch: list[ReadFile] = []
        size = 0
        for file in files:
            batch.append(file)
            size += file.record.size
            if size >= self._settings.ingestion.batch_bytes:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _store_batch(self, writer: IndexWriter, pipeline: ChunkPipeline, files: Sequence[ReadFile]) -> None:
        documents = [_document(file) for file in files]
        with self._timed("chunk and embed"), collector_paused():
            batch = pipeline.run(documents)
        with self._timed("store"):
            writer.add(batch.nodes, batch.vectors.chunks, batch.counts, batch.terms)
        self._note_batch(files, batch)

    def _note_batch(self, files: Sequence[ReadFile], batch: PipelineBatch) -> None:
        chunks = Counter(node.metadata["path"] for node in batch.nodes)
        symbols: Counter[str] = Counter()
        for node in batch.nodes:
            symbols[node.metadata["path"]] += len(node.metadata["symbols"])
        for position, path in enumerate(batch.paths):
            self._vectors[path] = batch.vectors.files[position], batch.vectors.paths[position]
        for file in files:
            path = file.record.path
            text = file.source.text if file.source else ""
            self._records[path] = replace(
                file.record,
                chunks=chunks[path],
                symbols=symbols[path],
                lines=text.count("\n") + (not text.endswith("\n") and bool(text)),
                note=batch.notes.get(path, ""),
            )

    def _commit(self, writer: IndexWriter, pointer: Pointer | None, tally: "_Tally") -> IndexReport:
        records = sorted(self._records.values(), key=lambda record: record.path)
        root_hash = f"{self._fingerprint}:{tree_hash(records)}"
        nothing_changed = not (tally.added or tally.changed or tally.removed)
        if pointer and nothing_changed and pointer.root_hash == root_hash:
            return self._report(pointer.generation, records, tally)
        self._progress(IndexProgress("commit", 0, 1))
        with self._timed("commit"):
            embedding = pointer.embedding if pointer else self._model.info
            contents, places = self._file_vectors(writer, records, embedding)
            snapshot = writer.commit(records, contents, places, embedding=embedding, root_hash=root_hash)
        return self._report(snapshot.pointer.generation, records, tally)

    def _file_vectors(
        self, writer: IndexWriter, records: Sequence[FileRecord], embedding: EmbeddingInfo
    ) -> tuple[FloatArray, FloatArray]:
        """Return the vectors of all files: new ones of this run, the others of the last generation."""
        contents = np.zeros((len(records), embedding.dimension), np.float32)
        places = np.zeros_like(contents)
        old_rows: dict[str, int] = {}
        if writer.base is not None:
            old_contents, old_places = writer.base.file_vectors()
            old_rows = {record.path: row for row, record in enumerate(writer.base.files())}
        for row, record in enumerate(records):
            if record.path in self._vectors:
                contents[row], places[row] = self._vectors[record.path]
            elif record.outcome == "indexed" and record.path in old_rows:
                contents[row], places[row] = old_contents[old_rows[record.path]], old_places[old_rows[record.path]]
        return contents, places

    def _report(self, generation: int, records: Sequence[FileRecord], tally: "_Tally") -> IndexReport:
        indexed = [record for record in records if record.outcome == "indexed"]
        renamed = count_renames(tally.added, tally.removed)
        return IndexReport(
            generation=generation,
            files=dict(Counter(record.outcome for record in records)),
            chunks=sum(record.chunks for record in indexed),
            symbols=sum(record.symbols for record in indexed),
            edges=0,
            lines=sum(record.lines for record in indexed),
            added=len(tally.added) - renamed,
            changed=len(tally.changed),
            removed=len(tally.removed) - renamed,
            renamed=renamed,
            unchanged=tally.unchanged,
            skipped=dict(Counter(record.reason for record in records if record.outcome == "skipped").most_common()),
            failed=[(record.path, record.reason) for record in records if record.outcome == "failed"],
            seconds={stage: round(seconds, 4) for stage, seconds in self._seconds.items()},
        )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - started


class _Tally:
    """Which files were added, changed and removed."""

    def __init__(self) -> None:
        self.added: list[FileRecord] = []
        self.changed: list[FileRecord] = []
        self.removed: list[FileRecord] = []
        self.unchanged = 0

    def note(self, record: FileRecord, old: FileRecord | None) -> None:
        """Note a file that was read and is not what the last generation has."""
        was_indexed = old is not None and old.outcome == "indexed"
        if record.outcome == "indexed":
            (self.changed if was_indexed else self.added).append(record)
        elif old is not None and was_indexed:
            self.removed.append(old)


def _document(file: ReadFile) -> Document:
    assert file.source is not None
    record = file.record
    metadata = {"path": record.path, "language": record.language, "role": record.role}
    return Document(text=file.source.text, metadata=metadata, id_=record.path)


def fingerprint(settings: Settings, repository: str) -> str:
    """Return what decides how a file becomes chunks, their ids included; another one means to build anew."""
    relevant = f"{PIPELINE_VERSION} {settings.ingestion.chunk!r} {settings.ingestion.transformations!r} {repository!r}"
    return hashlib.sha256(relevant.encode()).hexdigest()[:12]


def _fingerprint(root_hash: str) -> str:
    return root_hash.partition(":")[0]
