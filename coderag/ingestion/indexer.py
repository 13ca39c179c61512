"""Bring the index up to date with the files on disk: scan, find what changed, have it parsed and counted, embed, commit."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coderag.ingestion.cache_directory import cache_directory
from coderag.ingestion.files.changes import Changes, batched, content_digest, count_renames, find_changes
from coderag.ingestion.files.rescan import rescan
from coderag.ingestion.files.scanner import Scan, check_root, scan
from coderag.ingestion.pipeline_version import PIPELINE_VERSION
from coderag.ingestion.summaries.kept import KeptSentences
from coderag.ingestion.summaries.overviews import Overviews
from coderag.ingestion.workers.worker_pool import number_of_workers, shared_pool
from coderag.models.dense import DenseModel, ProviderDense
from coderag.privacy import PathMask
from coderag.schema import FileRecord, IndexProgress, IndexReport
from coderag.settings import Settings
from coderag.stores.graph_tables import GraphTables
from coderag.stores.index_store import IndexStore
from coderag.stores.index_writer import IndexWriter
from coderag.stores.manifest import Manifest, manifest_of, write_manifest
from coderag.stores.pointer import EmbeddingInfo, Pointer
from coderag.stores.protocols import GraphBuilder
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import SummaryCache

# What reads, parses and embeds is loaded by the first run that finds something to do: to find out takes a fifth of the time.
if TYPE_CHECKING:
    from coderag.ingestion.embedded_chunks import EmbeddedChunks
    from coderag.ingestion.workers.jobs import JobResult
    from coderag.ingestion.workers.vocabulary import Vocabulary
    from coderag.stores.content_cache import ContentCache
    from coderag.stores.facts_bytes import PackedFacts

Progress = Callable[[IndexProgress], None]
Edits = tuple[Scan, Collection[str]]
"""A scan, and the paths that may have changed since."""

FloatArray = NDArray[np.float32]

_LARGEST_JOB = 400_000  # bytes of source: a result of a few megabytes
_SMALLEST_JOB = 30_000
_JOBS_A_WORKER = 4  # at least, where there is enough to do, so that all end at about the same time


class Indexer:
    """One run of indexing.

    Args:
        root: Folder of the repository.
        settings: The repository's settings.
        store: Where the index lives.
        model: The dense model.
        progress: Called as the run goes on.
        graph_builder: Makes the code graph; without it there is none.

    Attributes:
        found: What the scan of the run found.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        store: IndexStore,
        model: DenseModel,
        progress: Progress | None = None,
        *,
        graph_builder: GraphBuilder | None = None,
    ) -> None:
        self._root = root
        self._settings = settings
        self._ingestion = settings.ingestion
        self._store = store
        self._model = model
        self._graph_builder = graph_builder
        self._facts: dict[str, PackedFacts] = {}
        self._edges = 0
        self._progress = progress or (lambda _: None)
        self._repository = settings.project or root.name
        self._n_workers = number_of_workers(settings.ingestion.workers)
        self._fingerprint = fingerprint(settings, self._repository, model.mask)
        self._seconds: dict[str, float] = {}
        self._worker_seconds: Counter[str] = Counter()
        self._records: dict[str, FileRecord] = {}
        self._vectors: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._tally = _Tally()
        self._summaries = SummaryCache(self._cache_directory())
        self._sentences = KeptSentences(self._summaries)
        self._overviews = Overviews()
        self._reembedded = ""
        self._texts_done = 0
        self._texts_total = 0  # 0: not known
        self.found = Scan()

    def run(self, *, full: bool = False, since: Edits | None = None) -> IndexReport:
        """Bring the index up to date and return what was done.

        Args:
            full: Build everything anew, even what has not changed.
            since: What is known to have been edited since an earlier run's scan, to save another walk.

        Raises:
            IngestionError: The repository cannot be read.
            ModelError: The embedding model failed; the last generation is intact, and what was paid for is kept.
            StoreError: The index cannot be written; the last generation is intact.
        """
        started = time.perf_counter()
        check_root(self._root)  # it may be gone since it was opened, and the store would make it again
        with self._store.writer() as writer, self._summaries:
            if full:
                writer.reset()
            last = self._last_generation(writer)
            if last is not None:
                self._overviews = Overviews.of_arrays(last.arrays())
            if last is None and self._n_workers:
                shared_pool(self._n_workers).prepare()  # they start while the files are looked for
            checked_ns = time.time_ns()
            changes = self._find_changes(last, since)
            to_do = bool(changes.changed or changes.removed or self._reembedded)
            with self._cache(needed=to_do) as cache:
                if to_do:
                    self._apply(writer, last, changes, cache, parse_again=full)
                records = sorted(self._records.values(), key=lambda record: record.path)
                generation = self._commit(writer, last, records, changes, checked_ns)
                if cache:
                    cache.prune()  # not before: until the commit, what was paid for is nowhere else
        self._progress(IndexProgress("commit", 1, 1))
        return self._report(generation, records, time.perf_counter() - started)

    def _last_generation(self, writer: IndexWriter) -> Snapshot | None:
        """Return the generation whose chunks stay where files have not changed; drop its vectors if those cannot."""
        last = writer.base
        if last is None:
            return None
        recorded, configured = last.pointer.embedding, self._model.info
        is_other = recorded != configured
        if is_other:
            self._reembedded = f"the embedding model changed from {recorded} to {configured}"
            writer.reset()
        lacks_graph = self._graph_builder is not None and "facts" not in last.pointer.tables
        has_other_chunks = fingerprint_of(last.pointer) != self._fingerprint
        if lacks_graph or has_other_chunks or (is_other and self._ingestion.transformations):
            writer.reset()
            return None
        return last

    def _find_changes(self, last: Snapshot | None, since: Edits | None) -> Changes:
        self._progress(IndexProgress("scan", 0, 0))
        with self._timed("scan"):
            limit = self._ingestion.max_file_bytes
            found = rescan(self._root, *since, max_file_bytes=limit) if since else None
            if found is None:
                found = scan(self._root, max_file_bytes=limit, exclude=self._ingestion.exclude)
            changes = find_changes(found, None if last is None else manifest_of(last))
        self.found = found
        self._records = {record.path: record for record in (*found.skipped, *changes.kept)}
        self._tally.unchanged = sum(record.outcome == "indexed" for record in changes.kept)
        return changes

    def _apply(
        self,
        writer: IndexWriter,
        last: Snapshot | None,
        changes: Changes,
        cache: "ContentCache | None",
        *,
        parse_again: bool,
    ) -> None:
        """Index what changed, into the writer, and all else too if it has no vectors there."""
        from coderag.ingestion.workers import parse_cache  # noqa: PLC0415  # see above

        self._overviews.drop(changes.removed)
        writer.remove(changes.removed)
        self._tally.removed += [changes.known[path] for path in changes.removed]
        total = len(changes.changed)
        done = 0
        with (
            self._attended(cache),
            ThreadPoolExecutor(1, "reading-ahead") as beside,  # while others parse
            closing(self._results(changes, parse_again=parse_again)) as results,
        ):
            embedder = beside.submit(self._embedder, last)
            if last is not None and writer.base is last and changes.are_sure:
                beside.submit(last.read_ahead)  # what fails is read again when it is needed
            for result in results:
                chunks = None
                if result.columns is not None or result.parsed:
                    with self._timed("embed"):
                        embed, _ = embedder.result()
                        chunks = embed(result)
                self._note(writer, result, changes)
                if chunks is not None:
                    self._add(writer, chunks)
                if cache and result.fresh:
                    with self._timed("store"):
                        cache.put(parse_cache.NAMESPACE, result.fresh)
                done += len(result.records)
                self._progress(IndexProgress("chunk", done, total))
            if last is not None and writer.base is None:
                self._reembed(writer, last, embedder.result()[1].terms)
        if self._sentences.may_exist:
            self._overviews.renew_folders(self._sentences)
            writer.learn(self._overviews.terms())

    def _embedder(self, last: Snapshot | None) -> "tuple[Callable[[JobResult], EmbeddedChunks], Vocabulary]":
        """Return what embeds the results of jobs, and the vocabulary that it continues."""
        from coderag.ingestion.chunk_runs import chunk_embedder  # noqa: PLC0415  # see above
        from coderag.ingestion.workers.vocabulary import Vocabulary  # noqa: PLC0415

        vocabulary = Vocabulary(() if last is None else last.terms())
        return chunk_embedder(self._settings, self._model, vocabulary, self._repository, self._sentences), vocabulary

    def _add(self, writer: IndexWriter, chunks: "EmbeddedChunks") -> None:
        with self._timed("store"):
            writer.add(chunks.columns, chunks.vectors.chunks, chunks.counts, chunks.terms)
        if self._sentences.may_exist:
            self._overviews.renew_files(chunks.columns, self._sentences)
        for path, *vectors in zip(chunks.paths, chunks.vectors.files, chunks.vectors.paths, strict=True):
            self._vectors[path] = vectors[0], vectors[1]
        self._tally.embedded += len(chunks.columns)

    def _reembed(self, writer: IndexWriter, last: Snapshot, terms: Sequence[str]) -> None:
        """Embed the chunks of files that have not changed."""
        from coderag.ingestion.reembedding import embed_stored  # noqa: PLC0415  # only a switch needs it

        stored = {
            path: record.chunks
            for path, record in self._records.items()
            if record.outcome == "indexed" and record.chunks and path not in self._vectors
        }
        paths_too = self._model.mask is None
        self._texts_total = self._texts_done + sum(stored.values()) + paths_too * len(stored)
        self._note_texts(0)
        batches = embed_stored(last, self._model, terms, stored)
        while True:
            with self._timed("embed"):
                chunks = next(batches, None)
            if chunks is None:
                return
            self._add(writer, chunks)
            if not isinstance(self._model, ProviderDense):
                self._note_texts(len(chunks.columns) + len(chunks.paths))

    def _note_texts(self, number: int) -> None:
        """Tell that so many more texts are embedded."""
        self._texts_done += number
        self._progress(IndexProgress("embed", self._texts_done, self._texts_total))

    def _results(self, changes: Changes, *, parse_again: bool) -> "Generator[JobResult, None, None]":
        """Yield what came of the changed files, in order, as worker processes read and parse them."""
        from coderag.ingestion.chunk_runs import run_settings  # noqa: PLC0415  # see above
        from coderag.ingestion.workers.jobs import FileTask, Job, JobRunner  # noqa: PLC0415

        size = self._n_workers
        use_cache = bool(self._settings.storage.cache_bytes) and not parse_again
        cache = self._cache_directory() if use_cache else None
        settings = run_settings(self._root, self._settings, isolated=size > 0, cache=cache)
        total = sum(candidate.size for candidate in changes.changed)
        most = min(_LARGEST_JOB, max(_SMALLEST_JOB, total // max(1, _JOBS_A_WORKER * size)))
        jobs = (
            Job([FileTask(candidate, changes.known_hash(candidate.path)) for candidate in batch])
            for batch in batched(changes.changed, most)
        )
        if size:
            yield from self._waited(shared_pool(size).run(jobs, settings))
            return
        runner = JobRunner(settings)
        try:
            yield from self._waited(map(runner.run, jobs))
        finally:
            runner.close()

    def _waited(self, results: "Iterator[JobResult]") -> "Iterator[JobResult]":
        """Yield results and note the time waited for them."""
        while True:
            with self._timed("parse"):
                result = next(results, None)
            if result is None:
                return
            self._worker_seconds.update(result.seconds)
            yield result

    def _cache_directory(self) -> Path:
        return cache_directory(self._root, self._store.directory)

    @contextmanager
    def _cache(self, *, needed: bool) -> "Iterator[ContentCache | None]":
        limit = self._settings.storage.cache_bytes
        if not (limit and needed):
            yield None
            return
        from coderag.stores.content_cache import ContentCache  # noqa: PLC0415  # see above

        with ContentCache(self._cache_directory(), limit_bytes=limit) as cache:
            yield cache

    @contextmanager
    def _attended(self, cache: "ContentCache | None") -> Iterator[None]:
        """Within the block, have a provider's model keep its vectors by content, and tell how far it is."""
        model = self._model
        if not isinstance(model, ProviderDense):
            yield
            return
        before = model.cache, model.on_embedded
        model.cache, model.on_embedded = cache, self._note_texts
        try:
            yield
        finally:
            model.cache, model.on_embedded = before

    def _note(self, writer: IndexWriter, result: "JobResult", changes: Changes) -> None:
        """Record what became of a job's files, and drop the old chunks of those that changed."""
        for record in result.records:
            old = changes.known.get(record.path)
            was_indexed = old is not None and old.outcome == "indexed"
            if old and record.path in result.unchanged:
                status = {name: getattr(record, name) for name in ("size", "mtime_ns", "ctime_ns", "inode")}
                self._records[record.path] = replace(old, **status)
                self._tally.unchanged += 1
                continue
            if was_indexed:
                writer.remove([record.path])
                self._overviews.drop([record.path])
            self._records[record.path] = record
            if record.path in result.facts:
                self._facts[record.path] = result.facts[record.path]
            self._tally.note(record, old)

    def _commit(
        self,
        writer: IndexWriter,
        last: Snapshot | None,
        records: Sequence[FileRecord],
        changes: Changes,
        checked_ns: int,
    ) -> int:
        """Make the next generation, if anything changed, and return the number of the current one."""
        linking = self._graph_builder.version if self._graph_builder else ""
        root_hash = f"{self._fingerprint}:{content_digest(records)}:{linking}"
        pointer = None if last is None else last.pointer
        if pointer is None or self._reembedded or self._tally.changes_index or pointer.root_hash != root_hash:
            self._progress(IndexProgress("commit", 0, 1))
            builder = self._graph_builder
            graph = partial(self._linked, builder, last, records, linking) if builder else None
            with self._timed("commit"):
                embedding = self._model.info
                vectors = self._file_vectors(writer, records, embedding)
                arrays = self._overviews.arrays()
                made = writer.commit(
                    records, *vectors, embedding=embedding, root_hash=root_hash, graph=graph, arrays=arrays
                )
                pointer = made.pointer
            self._seconds["commit"] -= self._seconds.get("link", 0.0)  # which is done meanwhile
        else:
            self._edges = pointer.edges
            if not changes.changed:
                return pointer.generation
        write_manifest(self._store.directory, pointer, Manifest(records, checked_ns))
        return pointer.generation

    def _linked(
        self, builder: GraphBuilder, last: Snapshot | None, records: Sequence[FileRecord], linking: str
    ) -> GraphTables:
        """Return the code graph of the next generation."""
        with self._timed("link"):
            base = None if last is None else last.graph()._replace(facts=last.facts())
            relink = last is not None and last.pointer.root_hash.rpartition(":")[2] != linking
            graph = builder.build(base, records, self._facts, relink=relink)
        self._edges = len(graph.edges)
        return graph

    def _file_vectors(
        self, writer: IndexWriter, records: Sequence[FileRecord], embedding: EmbeddingInfo
    ) -> tuple[FloatArray, FloatArray]:
        """Return the vectors of all files: new ones of this run, the others of the last generation."""
        contents = np.zeros((len(records), embedding.dimension), np.float32)
        places = np.zeros_like(contents)
        row_of = {record.path: row for row, record in enumerate(records) if record.outcome == "indexed"}
        if writer.base is not None:
            new_rows = np.array([row_of.get(path, -1) for path in writer.base.file_paths()], np.intp)
            kept = np.flatnonzero(new_rows >= 0)
            for vectors, old in zip((contents, places), writer.base.file_vectors(), strict=True):
                vectors[new_rows[kept]] = old[kept]
        for path, made in self._vectors.items():
            if path in row_of:
                contents[row_of[path]], places[row_of[path]] = made
        return contents, places

    def _report(self, generation: int, records: Sequence[FileRecord], elapsed: float) -> IndexReport:
        indexed = [record for record in records if record.outcome == "indexed"]
        tally = self._tally
        renamed = count_renames(tally.added, tally.removed)
        read = [*tally.added, *tally.changed]
        return IndexReport(
            generation=generation,
            files=dict(Counter(record.outcome for record in records)),
            chunks=sum(record.chunks for record in indexed),
            symbols=sum(record.symbols for record in indexed),
            edges=self._edges,
            lines=sum(record.lines for record in indexed),
            added=len(tally.added) - renamed,
            changed=len(tally.changed),
            removed=len(tally.removed) - renamed,
            renamed=renamed,
            unchanged=tally.unchanged,
            skipped=dict(Counter(record.reason for record in records if record.outcome == "skipped").most_common()),
            failed=[(record.path, record.reason) for record in records if record.outcome == "failed"],
            seconds={stage: round(seconds, 4) for stage, seconds in self._seconds.items()},
            worker_seconds={stage: round(seconds, 4) for stage, seconds in self._worker_seconds.most_common()},
            elapsed_s=elapsed,
            bytes_read=sum(record.size for record in read),
            lines_read=sum(record.lines for record in read),
            embedded=tally.embedded,
            reembedded=self._reembedded,
        )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - started


class _Tally:
    """Which files were added, changed and removed, and how many chunks were embedded."""

    def __init__(self) -> None:
        self.added: list[FileRecord] = []
        self.changed: list[FileRecord] = []
        self.removed: list[FileRecord] = []
        self.unchanged = 0
        self.embedded = 0

    @property
    def changes_index(self) -> bool:
        """Whether anything differs from the last generation."""
        return bool(self.added or self.changed or self.removed)

    def note(self, record: FileRecord, old: FileRecord | None) -> None:
        """Note a file that was read and is not what the last generation has."""
        was_indexed = old is not None and old.outcome == "indexed"
        if record.outcome == "indexed":
            (self.changed if was_indexed else self.added).append(record)
        elif old is not None and was_indexed:
            self.removed.append(old)


def fingerprint(settings: Settings, repository: str, mask: PathMask | None = None) -> str:
    """Return what decides how a file becomes chunks and vectors, ids included; another one means to build anew."""
    ingestion = settings.ingestion
    relevant = (
        f"{PIPELINE_VERSION} {ingestion.chunk!r} {ingestion.transformations!r} {ingestion.generated} {repository!r}"
    )
    if mask is not None:
        relevant += f" {mask.fingerprint}"
    return hashlib.sha256(relevant.encode()).hexdigest()[:12]


def fingerprint_of(pointer: Pointer) -> str:
    """Return the fingerprint that a generation was made with."""
    return pointer.root_hash.partition(":")[0]
