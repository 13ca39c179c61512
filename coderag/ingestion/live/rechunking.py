"""Chunks of edited files, computed in this process as indexing does and kept in memory."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.config.settings import Settings
from coderag.errors import ConfigurationError, ModelError
from coderag.ingestion.cache_directory import resolve_cache_directory
from coderag.ingestion.embedded_chunks import EmbeddedChunks
from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.live.disk_files import DiskFiles, get_file_status
from coderag.ingestion.live.edits import EditTracker
from coderag.ingestion.run_setup import build_chunk_embedder, build_run_settings
from coderag.ingestion.summaries.cached_sentences import CachedSentences
from coderag.ingestion.summaries.overviews import Overviews
from coderag.ingestion.workers.jobs import FileTask, JobRunner, ParseJob
from coderag.ingestion.workers.vocabulary import Vocabulary
from coderag.ingestion.workers.worker_pool import count_workers
from coderag.models.dense import BatchVectors, ChunkBatch, DenseModel, ProviderDense
from coderag.stores.content_cache import FILE_NAME, ContentCache
from coderag.stores.overlay import FreshChunks, FreshFile, FreshFiles
from coderag.stores.pointer import EmbeddingInfo
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import SummaryCache
from coderag.text.path_masking import PathMask

MAX_RECHUNKED_FILES: Final = 40
"""Maximum number of edited files to chunk for one query, beside its results: 40 take about half a second."""

MAX_RECHUNKED_BYTES: Final = 300_000
"""Maximum size of these files. Parsing, counting and embedding take about 2 s per megabyte."""

_logger = logging.getLogger(__name__)


class Rechunker:
    """Chunks edited files in place of those of one generation. Not thread-safe.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.
        make_model: Returns the dense model.
        base: The generation.
        disk: The files on disk.
    """

    def __init__(
        self, root: Path, settings: Settings, make_model: Callable[[], DenseModel], base: Snapshot, disk: DiskFiles
    ) -> None:
        self._disk = disk
        self._base = base
        self._cache_directory = resolve_cache_directory(root, base.directory)
        self._vocabulary: Vocabulary = Vocabulary(base.read_terms())
        self._terms: Sequence[str] = self._vocabulary.terms
        self._summaries = SummaryCache(self._cache_directory)
        self._sentences = CachedSentences(self._summaries)
        self._model = _FaultTolerantModel(make_model, base.pointer.embedding)
        repository = settings.project or root.name
        self._embed = build_chunk_embedder(settings, self._model, self._vocabulary, repository, self._sentences)
        has_cache = bool(settings.storage.cache_bytes) and (self._cache_directory / FILE_NAME).exists()
        by_workers = count_workers(settings.ingestion.workers) > 0
        self._cache_bytes = settings.storage.cache_bytes if has_cache else 0
        cache = self._cache_directory if has_cache else None
        self._runner = JobRunner(
            build_run_settings(root, settings, isolated=False, cache=cache, isolated_cache_key=by_workers)
        )
        self._chunked_files: dict[str, tuple[FileCandidate, FreshFile]] = {}
        self._skipped_files: dict[str, FreshFile] = {}
        self._is_behind = False

    def close(self) -> None:
        """Close the caches."""
        self._runner.close()
        self._summaries.close()

    def build_fresh_files(self, edits: EditTracker, required: Sequence[str], hidden: Sequence[str]) -> FreshFiles:
        """Build the replacements for a generation's edited files.

        Args:
            edits: The edited files.
            required: Files to chunk in any case; of the others, as many as a query can wait for.
            hidden: Files to omit, because they are edited too fast to keep up.
        """
        edited = edits.edited
        self._chunked_files = {
            path: chunked for path, chunked in self._chunked_files.items() if edited.get(path) is not None
        }
        gone = {path for path, candidate in edited.items() if candidate is None} | set(hidden)
        self._chunk_files(
            [candidate for path in required if (candidate := edited.get(path)) is not None and path not in gone]
        )
        remaining = [
            candidate for path, candidate in sorted(edited.items()) if candidate is not None and path not in gone
        ]
        self._chunk_files(_select_affordable([candidate for candidate in remaining if not self._is_current(candidate)]))
        self._warn_unread([candidate for candidate in remaining if not self._is_current(candidate)])
        files = {path: fresh for path, (_, fresh) in self._chunked_files.items() if path not in gone}
        files |= self._build_skipped(edits)
        gone -= edits.skipped.keys()
        overviews = self._build_overviews(files, gone)
        terms = (
            list(dict.fromkeys([*self._terms, *overviews.iterate_terms()])) if overviews.files else list(self._terms)
        )
        return FreshFiles(files, frozenset(gone), terms, {**self._base.read_arrays(), **overviews.to_arrays()})

    def _warn_unread(self, unread: Sequence[FileCandidate]) -> None:
        """Warn once that some edits are not visible yet, for example after a branch switch."""
        if unread and not self._is_behind:
            message = (
                "%d changed files have not been read yet: answers use their indexed text. `coderag index` reads all."
            )
            _logger.warning(message, len(unread))
        self._is_behind = bool(unread)

    def _build_skipped(self, edits: EditTracker) -> dict[str, FreshFile]:
        """Return the skipped files with their reasons; each object stays the same while its record does."""
        self._skipped_files = {
            path: old if (old := self._skipped_files.get(path)) and old.record == record else FreshFile(record)
            for path, record in edits.skipped.items()
        }
        return self._skipped_files

    def _is_current(self, candidate: FileCandidate) -> bool:
        """Return whether a file's chunks are of its current content."""
        chunked = self._chunked_files.get(candidate.path)
        if chunked is None:
            return False
        chunked_candidate, fresh = chunked
        return get_file_status(chunked_candidate) == get_file_status(candidate) or bool(
            fresh.record.hash and fresh.record.hash == self._disk.compute_hash(candidate)
        )

    def _chunk_files(self, candidates: Sequence[FileCandidate]) -> None:
        outdated = [candidate for candidate in candidates if not self._is_current(candidate)]
        if not outdated:
            return
        with self._model.use_cache(self._cache_directory, self._cache_bytes):
            for candidate in outdated:
                self._chunked_files[candidate.path] = candidate, self._chunk_file(candidate)

    def _chunk_file(self, candidate: FileCandidate) -> FreshFile:
        result = self._runner.run(ParseJob([FileTask(candidate)]))
        chunks = None
        if result.columns is not None or result.parsed:
            embedded = self._embed(result)
            self._terms = embedded.terms
            chunks = _to_fresh_chunks(embedded) if len(embedded.columns) else None
        return FreshFile(result.records[0], chunks, result.facts.get(candidate.path))

    def _build_overviews(self, files: Mapping[str, FreshFile], gone: Collection[str]) -> Overviews:
        """Return the summaries of files and folders that still hold for the current files."""
        overviews = Overviews.from_arrays(self._base.read_arrays())
        overviews.drop([*files, *gone])
        if self._sentences.is_available:
            for fresh in files.values():
                if fresh.chunks is not None:
                    overviews.renew_files(fresh.chunks.table, self._sentences)
            overviews.renew_folders(self._sentences)
        return overviews


class _FaultTolerantModel:
    """A dense model for edited files. While its server fails they get zero vectors and are found by their words.

    Args:
        make_model: Returns the repository's model. It is copied, because an indexing run in another thread keeps state in it.
        recorded: The model of the generation.
    """

    def __init__(self, make_model: Callable[[], DenseModel], recorded: EmbeddingInfo) -> None:
        self.info = recorded
        self.mask: PathMask | None = None
        self._model: DenseModel | None = None
        try:
            model = copy(make_model())
            if model.info == recorded:  # otherwise only names and the code graph are searched
                self._model, self.mask = model, model.mask
        except (ConfigurationError, ModelError) as error:
            _logger.warning("Edited files have no vectors until they are indexed: %s", error)

    def embed_batch(self, batch: ChunkBatch) -> BatchVectors:
        """Return the vectors of a batch; zeros if the model cannot be reached."""
        if self._model is not None:
            try:
                return self._model.embed_batch(batch)
            except ModelError as error:
                _logger.warning("Edited files have no vectors until they are indexed: %s", error)
        dimension = self.info.dimension
        files = np.zeros((len(batch.paths), dimension), np.float32)
        return BatchVectors(np.zeros((len(batch.texts), dimension), np.float32), files, files)

    def embed_query(self, query: str, terms: Sequence[str]) -> NDArray[np.float32]:
        """Return the vector of a query; zeros without a model."""
        if self._model is None:
            return np.zeros(self.info.dimension, np.float32)
        return self._model.embed_query(query, terms)

    @contextmanager
    def use_cache(self, directory: Path, limit_bytes: int) -> Iterator[None]:
        """Within the block, have a provider's model cache its vectors by content."""
        model = self._model
        if not (isinstance(model, ProviderDense) and limit_bytes):
            yield
            return
        model.on_embedded = lambda _: None
        with ContentCache(directory, limit_bytes=limit_bytes) as cache:
            model.cache = cache
            try:
                yield
            finally:
                model.cache = None


def _select_affordable(candidates: Sequence[FileCandidate]) -> list[FileCandidate]:
    """Return the first files, as many as a query can wait for."""
    selected: list[FileCandidate] = []
    size = 0
    for candidate in candidates[:MAX_RECHUNKED_FILES]:
        size += candidate.size
        if selected and size > MAX_RECHUNKED_BYTES:
            break
        selected.append(candidate)
    return selected


def _to_fresh_chunks(embedded: EmbeddedChunks) -> FreshChunks:
    """Return the chunks of one file."""
    vectors = embedded.vectors
    return FreshChunks(embedded.columns, embedded.counts, vectors.chunks, vectors.files[0], vectors.paths[0])
