"""Incremental indexing: scan, detect changes, parse, count terms, embed, commit."""

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
from coderag.errors import StoreError
from coderag.ingestion.cache_directory import resolve_cache_directory
from coderag.ingestion.files.changes import Changes, find_changes, split_batches
from coderag.ingestion.files.rescan import rescan
from coderag.ingestion.files.scanner import Scan, check_root, scan
from coderag.ingestion.root_hash import (
    compute_settings_fingerprint,
    get_linking_version,
    get_settings_fingerprint,
    make_root_hash,
)
from coderag.ingestion.run_results import FileOutcomes, StageTimes
from coderag.ingestion.summaries.cached_sentences import CachedSentences
from coderag.ingestion.summaries.overviews import Overviews
from coderag.ingestion.workers.worker_pool import count_workers, get_shared_pool
from coderag.models.dense import DenseModel, ProviderDense
from coderag.schema.chunks import FileRecord
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.stores.disk import is_resource_error
from coderag.stores.graph_tables import GraphTables
from coderag.stores.index_store import IndexStore
from coderag.stores.index_writer import IndexWriter
from coderag.stores.manifest import Manifest, load_manifest, write_manifest
from coderag.stores.pointer import EmbeddingInfo, Pointer
from coderag.stores.protocols import GraphBuilder
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import SummaryCache

# Modules that read, parse and embed are imported by the first run with changes: detecting that there are none takes a fifth
# of the time.
if TYPE_CHECKING:
    from coderag.ingestion.embedded_chunks import EmbeddedChunks
    from coderag.ingestion.workers.jobs import JobResult
    from coderag.ingestion.workers.vocabulary import Vocabulary
    from coderag.stores.content_cache import ContentCache
    from coderag.stores.facts_codec import PackedFacts

    Embedder = tuple[Callable[[JobResult], EmbeddedChunks], Vocabulary]

IndexProgressCallback = Callable[[IndexProgress], None]
KnownEdits = tuple[Scan, Collection[str]]
"""A scan, and the paths that may have changed since it."""

FloatArray = NDArray[np.float32]

_MAX_JOB_BYTES = 400_000  # bytes of source: a result of a few megabytes
_MIN_JOB_BYTES = 30_000
_LINKED_LATER_LINES = 200_000  # of a first index, which is committed before it is linked: that takes seconds
_MIN_JOBS_PER_WORKER = 4  # where there is enough work, so that all workers finish at about the same time


class Indexer:
    """A single run of indexing.

    Args:
        root: Folder of the repository.
        settings: The repository's settings.
        store: Where the index lives.
        model: The dense model.
        progress: Called as the run goes on.
        graph_builder: Builds the code graph; None builds none.

    Attributes:
        last_scan: Result of the run's scan.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        store: IndexStore,
        model: DenseModel,
        progress: IndexProgressCallback | None = None,
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
        self._n_workers = count_workers(settings.ingestion.workers)
        self._fingerprint = compute_settings_fingerprint(settings, self._repository, model.mask)
        self._times = StageTimes()
        self._files = FileOutcomes()
        self._vectors: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._embedded = 0
        self._summaries = SummaryCache(self._resolve_cache_directory())
        self._sentences = CachedSentences(self._summaries)
        self._overviews = Overviews()
        self._reembedded = ""
        self._repaired = ""
        self._texts_done = 0
        self._texts_total = 0  # 0: unknown
        self.last_scan = Scan()

    def run(self, *, full: bool = False, since: KnownEdits | None = None) -> IndexReport:
        """Bring the index up to date and report the changes.

        Args:
            full: Rebuild the whole index, unchanged files included.
            since: An earlier scan and the edits since, which save another walk of the folder.

        Raises:
            IngestionError: The repository cannot be read.
            ModelError: The embedding model failed. The last generation is intact, and vectors received so far are cached.
            StoreError: The index cannot be written; the last generation is intact.
        """
        self._times = StageTimes()
        check_root(self._root)  # a deleted root would be created again by the store
        with self._store.open_writer() as writer, self._summaries:
            if full:
                writer.reset()
            base = self._find_base(writer)
            if base is not None:
                self._overviews = Overviews.from_arrays(base.read_arrays())
            if base is None and self._n_workers:
                get_shared_pool(self._n_workers).prepare()  # workers start during the scan
            checked_ns = time.time_ns()
            changes = self._find_changes(base, since)
            has_work = bool(changes.changed or changes.removed or self._reembedded)
            with self._open_cache(needed=has_work) as cache:
                if has_work:
                    self._apply_changes(writer, base, changes, cache, parse_again=full)
                generation = self._commit(writer, base, changes, checked_ns)
                if cache:
                    cache.prune()  # after the commit: before it, the cache holds the only copy of paid vectors
        self._progress(IndexProgress("commit", 1, 1))
        return self._files.build_report(
            generation,
            self._times,
            edges=self._edges,
            embedded=self._embedded,
            reembedded=self._reembedded,
            repaired=self._repaired,
        )

    def _find_base(self, writer: IndexWriter) -> Snapshot | None:
        """Return the generation whose chunks remain valid, and drop its vectors if the model has changed."""
        try:
            base = writer.base
        except StoreError as error:
            if is_resource_error(error.__cause__ or error):
                raise
            self._repaired = str(error)
            writer.reset()
            return None
        if base is None:
            return None
        recorded, configured = base.pointer.embedding, self._model.info
        is_model_changed = recorded != configured
        if is_model_changed:
            self._reembedded = f"the embedding model changed from {recorded} to {configured}"
            writer.reset()
        lacks_graph = self._graph_builder is not None and "facts" not in base.pointer.tables
        has_other_chunks = get_settings_fingerprint(base.pointer) != self._fingerprint
        if lacks_graph or has_other_chunks or (is_model_changed and self._ingestion.transformations):
            writer.reset()
            return None
        return base

    def _find_changes(self, base: Snapshot | None, since: KnownEdits | None) -> Changes:
        self._progress(IndexProgress("scan", 0, 0))
        with self._times.measure("scan"):
            limit = self._ingestion.max_file_bytes
            scan_result = rescan(self._root, *since, max_file_bytes=limit) if since else None
            if scan_result is None:
                scan_result = scan(self._root, max_file_bytes=limit, exclude=self._ingestion.exclude)
            changes = find_changes(scan_result, None if base is None else load_manifest(base))
        self.last_scan = scan_result
        self._files = FileOutcomes(scan_result.skipped, changes)
        return changes

    def _apply_changes(
        self,
        writer: IndexWriter,
        base: Snapshot | None,
        changes: Changes,
        cache: "ContentCache | None",
        *,
        parse_again: bool,
    ) -> None:
        """Write changed files to the index, and re-embed unchanged ones whose vectors were dropped."""
        self._overviews.drop(changes.removed)
        writer.remove(changes.removed)
        total = len(changes.changed)
        done = 0
        with (
            self._track_embedding(cache),
            ThreadPoolExecutor(1, "reading-ahead") as executor,  # while others parse
            closing(self._run_jobs(changes, parse_again=parse_again)) as results,
        ):
            embedder = executor.submit(self._build_embedder, base)
            if base is not None and writer.base is base and changes.has_certain_changes:
                executor.submit(base.prefetch)  # errors are raised by the later read
            for result in results:
                self._store_result(writer, result, embedder, cache)
                done += len(result.records)
                self._progress(IndexProgress("chunk", done, total))
            if base is not None and writer.base is None:
                self._reembed(writer, base, embedder.result()[1].terms)
        if self._sentences.is_available:
            self._overviews.renew_folders(self._sentences)
            writer.add_terms(self._overviews.iterate_terms())

    def _store_result(
        self, writer: IndexWriter, result: "JobResult", embedder: "Future[Embedder]", cache: "ContentCache | None"
    ) -> None:
        """Embed and store a job's result, and cache the parsed files."""
        from coderag.ingestion.workers import parse_cache  # noqa: PLC0415  # see the imports

        chunks = None
        if result.columns is not None or result.parsed:
            with self._times.measure("embed"):
                embed, _ = embedder.result()
                chunks = embed(result)
        self._record_files(writer, result)
        if chunks is not None:
            self._store_chunks(writer, chunks)
        if cache and result.new_cache_entries:
            with self._times.measure("store"):
                cache.put(parse_cache.NAMESPACE, result.new_cache_entries)

    def _build_embedder(self, base: Snapshot | None) -> "Embedder":
        """Build the embedder of job results, and the vocabulary that it extends."""
        from coderag.ingestion.run_setup import build_chunk_embedder  # noqa: PLC0415  # see the imports
        from coderag.ingestion.workers.vocabulary import Vocabulary  # noqa: PLC0415

        vocabulary = Vocabulary(() if base is None else base.read_terms())
        return build_chunk_embedder(
            self._settings, self._model, vocabulary, self._repository, self._sentences
        ), vocabulary

    def _store_chunks(self, writer: IndexWriter, chunks: "EmbeddedChunks") -> None:
        with self._times.measure("store"):
            writer.add(chunks.columns, chunks.vectors.chunks, chunks.counts, chunks.terms)
        if self._sentences.is_available:
            self._overviews.renew_files(chunks.columns, self._sentences)
        if isinstance(self._model, ProviderDense):
            self._files.note_missing_vectors(chunks.iterate_paths_without_vector())
        for path, *vectors in zip(chunks.paths, chunks.vectors.files, chunks.vectors.paths, strict=True):
            self._vectors[path] = vectors[0], vectors[1]
        self._embedded += len(chunks.columns)

    def _reembed(self, writer: IndexWriter, base: Snapshot, terms: Sequence[str]) -> None:
        """Embed the chunks of unchanged files again."""
        from coderag.ingestion.reembedding import embed_stored_chunks  # noqa: PLC0415  # only a switch needs it

        unchanged_chunks = {
            record.path: record.chunks
            for record in self._files.list_records()
            if record.outcome == "indexed" and record.chunks and record.path not in self._vectors
        }
        embeds_paths = self._model.mask is None
        self._texts_total = self._texts_done + sum(unchanged_chunks.values()) + embeds_paths * len(unchanged_chunks)
        self._report_embedded(0)
        batches = embed_stored_chunks(base, self._model, terms, unchanged_chunks)
        while True:
            with self._times.measure("embed"):
                chunks = next(batches, None)
            if chunks is None:
                return
            self._store_chunks(writer, chunks)
            if not isinstance(self._model, ProviderDense):
                self._report_embedded(len(chunks.columns) + len(chunks.paths))

    def _report_embedded(self, number: int) -> None:
        """Report progress by a number of embedded texts."""
        self._texts_done += number
        self._progress(IndexProgress("embed", self._texts_done, self._texts_total))

    def _run_jobs(self, changes: Changes, *, parse_again: bool) -> "Generator[JobResult, None, None]":
        """Yield the results of parsing the changed files, in order."""
        from coderag.ingestion.run_setup import build_run_settings  # noqa: PLC0415  # see the imports
        from coderag.ingestion.workers.jobs import FileTask, JobRunner, ParseJob  # noqa: PLC0415

        n_workers = self._n_workers
        use_cache = bool(self._settings.storage.cache_bytes) and not parse_again
        cache = self._resolve_cache_directory() if use_cache else None
        settings = build_run_settings(self._root, self._settings, isolated=n_workers > 0, cache=cache)
        total = sum(candidate.size for candidate in changes.changed)
        max_job_bytes = min(_MAX_JOB_BYTES, max(_MIN_JOB_BYTES, total // max(1, _MIN_JOBS_PER_WORKER * n_workers)))
        jobs = (
            ParseJob([FileTask(candidate, changes.get_indexed(candidate.path)) for candidate in batch])
            for batch in split_batches(changes.changed, max_job_bytes)
        )
        if n_workers:
            yield from self._measure_waits(get_shared_pool(n_workers).run(jobs, settings))
            return
        runner = JobRunner(settings)
        try:
            yield from self._measure_waits(map(runner.run, jobs))
        finally:
            runner.close()

    def _measure_waits(self, results: "Iterator[JobResult]") -> "Iterator[JobResult]":
        """Yield results, and measure the time spent waiting for them."""
        while True:
            with self._times.measure("parse"):
                result = next(results, None)
            if result is None:
                return
            self._times.add_workers(result.seconds)
            yield result

    def _resolve_cache_directory(self) -> Path:
        return resolve_cache_directory(self._root, self._store.directory)

    @contextmanager
    def _open_cache(self, *, needed: bool) -> "Iterator[ContentCache | None]":
        limit = self._settings.storage.cache_bytes
        if not (limit and needed):
            yield None
            return
        from coderag.stores.content_cache import ContentCache  # noqa: PLC0415  # see the imports

        with ContentCache(self._resolve_cache_directory(), limit_bytes=limit) as cache:
            yield cache

    @contextmanager
    def _track_embedding(self, cache: "ContentCache | None") -> Iterator[None]:
        """Within the block, have a provider's model cache its vectors and report its progress."""
        model = self._model
        if not isinstance(model, ProviderDense):
            yield
            return
        previous_hooks = model.cache, model.on_embedded
        model.cache, model.on_embedded = cache, self._report_embedded
        try:
            yield
        finally:
            model.cache, model.on_embedded = previous_hooks

    def _record_files(self, writer: IndexWriter, result: "JobResult") -> None:
        """Record the outcomes of a job's files, and drop the old chunks of changed files."""
        outdated = self._files.record_files(result.records, result.unchanged)
        writer.remove(outdated)
        self._overviews.drop(outdated)
        self._facts |= result.facts

    def _commit(self, writer: IndexWriter, base: Snapshot | None, changes: Changes, checked_ns: int) -> int:
        """Commit the next generation if anything changed, and return the number of the current one."""
        builder = self._graph_builder
        linking = builder.version if builder else ""
        records = self._files.list_records()
        root_hash = make_root_hash(self._fingerprint, records, linking)
        pointer = None if base is None else base.pointer
        if pointer is None or self._reembedded or self._files.has_changes or pointer.root_hash != root_hash:
            self._progress(IndexProgress("commit", 0, 1))
            link = partial(self._link_graph, builder, base, records, linking) if builder else None
            is_linked_later = writer.is_first and sum(record.lines for record in records) >= _LINKED_LATER_LINES
            with self._times.measure("commit"):
                if builder is None or link is None or not is_linked_later:
                    pointer = self._commit_generation(writer, records, root_hash, link)
                else:
                    unlinked_hash = make_root_hash(self._fingerprint, records, "")
                    declare = partial(builder.declare, records, self._facts)
                    self._commit_generation(writer, records, unlinked_hash, declare)
                    self._times.note_searchable()
                    self._progress(IndexProgress("link", 0, 1))
                    pointer = writer.commit_graph(link, root_hash=root_hash).pointer
        else:
            self._edges = pointer.edges
            if not changes.changed:
                return pointer.generation
        write_manifest(self._store.directory, pointer, Manifest(records, checked_ns))
        return pointer.generation

    def _commit_generation(
        self,
        writer: IndexWriter,
        records: Sequence[FileRecord],
        root_hash: str,
        build_graph: "Callable[[], GraphTables] | None",
    ) -> Pointer:
        """Commit the chunks and the files with a graph."""
        embedding = self._model.info
        vectors = self._merge_file_vectors(writer, records, embedding)
        arrays = self._overviews.to_arrays()
        return writer.commit(
            records, *vectors, embedding=embedding, root_hash=root_hash, build_graph=build_graph, arrays=arrays
        ).pointer

    def _link_graph(
        self, builder: GraphBuilder, base: Snapshot | None, records: Sequence[FileRecord], linking: str
    ) -> GraphTables:
        """Link the code graph of the next generation."""
        with self._times.measure("link"):
            base_graph = None if base is None else base.read_graph()._replace(facts=base.read_facts())
            relink = base is not None and get_linking_version(base.pointer) != linking
            graph = builder.build(base_graph, records, self._facts, relink=relink)
        self._edges = len(graph.edges)
        return graph

    def _merge_file_vectors(
        self, writer: IndexWriter, records: Sequence[FileRecord], embedding: EmbeddingInfo
    ) -> tuple[FloatArray, FloatArray]:
        """Merge the file vectors of this run with those of the last generation."""
        content_vectors = np.zeros((len(records), embedding.dimension), np.float32)
        path_vectors = np.zeros_like(content_vectors)
        rows_by_path = {record.path: row for row, record in enumerate(records) if record.outcome == "indexed"}
        if writer.base is not None:
            new_rows = np.array([rows_by_path.get(path, -1) for path in writer.base.read_file_paths()], np.intp)
            retained = np.flatnonzero(new_rows >= 0)
            for vectors, old in zip((content_vectors, path_vectors), writer.base.read_file_vectors(), strict=True):
                vectors[new_rows[retained]] = old[retained]
        for path, new_vectors in self._vectors.items():
            if path in rows_by_path:
                content_vectors[rows_by_path[path]], path_vectors[rows_by_path[path]] = new_vectors
        return content_vectors, path_vectors
