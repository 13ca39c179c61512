"""Bring the index up to date with the files on disk: scan, find what changed, have it parsed and counted, embed, commit."""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coderag.config.settings import Settings
from coderag.ingestion.cache_directory import cache_directory
from coderag.ingestion.files.changes import Changes, batched, find_changes
from coderag.ingestion.files.rescan import rescan
from coderag.ingestion.files.scanner import Scan, check_root, scan
from coderag.ingestion.root_hash import fingerprint, fingerprint_of, linking_of, make_root_hash
from coderag.ingestion.run_results import FileOutcomes, StageTimes
from coderag.ingestion.summaries.kept import KeptSentences
from coderag.ingestion.summaries.overviews import Overviews
from coderag.ingestion.workers.worker_pool import number_of_workers, shared_pool
from coderag.models.dense import DenseModel, ProviderDense
from coderag.schema.chunks import FileRecord
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.stores.graph_tables import GraphTables
from coderag.stores.index_store import IndexStore
from coderag.stores.index_writer import IndexWriter
from coderag.stores.manifest import Manifest, load_manifest, write_manifest
from coderag.stores.pointer import EmbeddingInfo
from coderag.stores.protocols import GraphBuilder
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import SummaryCache

# What reads, parses and embeds is loaded by the first run that finds something to do: to find out takes a fifth of the time.
if TYPE_CHECKING:
    from coderag.ingestion.embedded_chunks import EmbeddedChunks
    from coderag.ingestion.workers.jobs import JobResult
    from coderag.ingestion.workers.vocabulary import Vocabulary
    from coderag.stores.content_cache import ContentCache
    from coderag.stores.facts_codec import PackedFacts

    Embedder = tuple[Callable[[JobResult], EmbeddedChunks], Vocabulary]

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
        self._times = StageTimes()
        self._files = FileOutcomes()
        self._vectors: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._embedded = 0
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
        self._times = StageTimes()
        check_root(self._root)  # it may be gone since it was opened, and the store would make it again
        with self._store.open_writer() as writer, self._summaries:
            if full:
                writer.reset()
            last = self._last_generation(writer)
            if last is not None:
                self._overviews = Overviews.of_arrays(last.read_arrays())
            if last is None and self._n_workers:
                shared_pool(self._n_workers).prepare()  # they start while the files are looked for
            checked_ns = time.time_ns()
            changes = self._find_changes(last, since)
            to_do = bool(changes.changed or changes.removed or self._reembedded)
            with self._cache(needed=to_do) as cache:
                if to_do:
                    self._apply(writer, last, changes, cache, parse_again=full)
                generation = self._commit(writer, last, changes, checked_ns)
                if cache:
                    cache.prune()  # not before: until the commit, what was paid for is nowhere else
        self._progress(IndexProgress("commit", 1, 1))
        return self._files.report(
            generation, self._times, edges=self._edges, embedded=self._embedded, reembedded=self._reembedded
        )

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
        with self._times.timed("scan"):
            limit = self._ingestion.max_file_bytes
            found = rescan(self._root, *since, max_file_bytes=limit) if since else None
            if found is None:
                found = scan(self._root, max_file_bytes=limit, exclude=self._ingestion.exclude)
            changes = find_changes(found, None if last is None else load_manifest(last))
        self.found = found
        self._files = FileOutcomes(found.skipped, changes)
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
        self._overviews.drop(changes.removed)
        writer.remove(changes.removed)
        total = len(changes.changed)
        done = 0
        with (
            self._attended(cache),
            ThreadPoolExecutor(1, "reading-ahead") as beside,  # while others parse
            closing(self._results(changes, parse_again=parse_again)) as results,
        ):
            embedder = beside.submit(self._embedder, last)
            if last is not None and writer.base is last and changes.are_sure:
                beside.submit(last.prefetch)  # what fails is read again when it is needed
            for result in results:
                self._take(writer, result, embedder, cache)
                done += len(result.records)
                self._progress(IndexProgress("chunk", done, total))
            if last is not None and writer.base is None:
                self._reembed(writer, last, embedder.result()[1].terms)
        if self._sentences.may_exist:
            self._overviews.renew_folders(self._sentences)
            writer.add_terms(self._overviews.terms())

    def _take(
        self, writer: IndexWriter, result: "JobResult", embedder: "Future[Embedder]", cache: "ContentCache | None"
    ) -> None:
        """Embed and store what came of a job, and keep what was parsed."""
        from coderag.ingestion.workers import parse_cache  # noqa: PLC0415  # see above

        chunks = None
        if result.columns is not None or result.parsed:
            with self._times.timed("embed"):
                embed, _ = embedder.result()
                chunks = embed(result)
        self._note(writer, result)
        if chunks is not None:
            self._add(writer, chunks)
        if cache and result.fresh:
            with self._times.timed("store"):
                cache.put(parse_cache.NAMESPACE, result.fresh)

    def _embedder(self, last: Snapshot | None) -> "Embedder":
        """Return what embeds the results of jobs, and the vocabulary that it continues."""
        from coderag.ingestion.chunk_runs import chunk_embedder  # noqa: PLC0415  # see above
        from coderag.ingestion.workers.vocabulary import Vocabulary  # noqa: PLC0415

        vocabulary = Vocabulary(() if last is None else last.read_terms())
        return chunk_embedder(self._settings, self._model, vocabulary, self._repository, self._sentences), vocabulary

    def _add(self, writer: IndexWriter, chunks: "EmbeddedChunks") -> None:
        with self._times.timed("store"):
            writer.add(chunks.columns, chunks.vectors.chunks, chunks.counts, chunks.terms)
        if self._sentences.may_exist:
            self._overviews.renew_files(chunks.columns, self._sentences)
        for path, *vectors in zip(chunks.paths, chunks.vectors.files, chunks.vectors.paths, strict=True):
            self._vectors[path] = vectors[0], vectors[1]
        self._embedded += len(chunks.columns)

    def _reembed(self, writer: IndexWriter, last: Snapshot, terms: Sequence[str]) -> None:
        """Embed the chunks of files that have not changed."""
        from coderag.ingestion.reembedding import embed_stored  # noqa: PLC0415  # only a switch needs it

        stored = {
            record.path: record.chunks
            for record in self._files.records()
            if record.outcome == "indexed" and record.chunks and record.path not in self._vectors
        }
        paths_too = self._model.mask is None
        self._texts_total = self._texts_done + sum(stored.values()) + paths_too * len(stored)
        self._note_texts(0)
        batches = embed_stored(last, self._model, terms, stored)
        while True:
            with self._times.timed("embed"):
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
            with self._times.timed("parse"):
                result = next(results, None)
            if result is None:
                return
            self._times.add_workers(result.seconds)
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

    def _note(self, writer: IndexWriter, result: "JobResult") -> None:
        """Record what became of a job's files, and drop the old chunks of those that changed."""
        outdated = self._files.note(result.records, result.unchanged)
        writer.remove(outdated)
        self._overviews.drop(outdated)
        self._facts |= result.facts

    def _commit(self, writer: IndexWriter, last: Snapshot | None, changes: Changes, checked_ns: int) -> int:
        """Make the next generation, if anything changed, and return the number of the current one."""
        linking = self._graph_builder.version if self._graph_builder else ""
        records = self._files.records()
        root_hash = make_root_hash(self._fingerprint, records, linking)
        pointer = None if last is None else last.pointer
        if pointer is None or self._reembedded or self._files.differ or pointer.root_hash != root_hash:
            self._progress(IndexProgress("commit", 0, 1))
            builder = self._graph_builder
            graph = partial(self._linked, builder, last, records, linking) if builder else None
            with self._times.timed("commit"):
                embedding = self._model.info
                vectors = self._file_vectors(writer, records, embedding)
                arrays = self._overviews.arrays()
                made = writer.commit(
                    records, *vectors, embedding=embedding, root_hash=root_hash, build_graph=graph, arrays=arrays
                )
                pointer = made.pointer
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
        with self._times.timed("link"):
            base = None if last is None else last.read_graph()._replace(facts=last.read_facts())
            relink = last is not None and linking_of(last.pointer) != linking
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
            new_rows = np.array([row_of.get(path, -1) for path in writer.base.read_file_paths()], np.intp)
            kept = np.flatnonzero(new_rows >= 0)
            for vectors, old in zip((contents, places), writer.base.read_file_vectors(), strict=True):
                vectors[new_rows[kept]] = old[kept]
        for path, made in self._vectors.items():
            if path in row_of:
                contents[row_of[path]], places[row_of[path]] = made
        return contents, places
