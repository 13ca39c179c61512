"""An open repository of a workspace: its engine, its indexing job and its file watch."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Final

from coderag.app import CodeRAG
from coderag.engine.reader import Reader
from coderag.errors import CodeRAGError, ServiceError, StoreError
from coderag.schema.search import SearchHit
from coderag.stores.pointer import Pointer, read_pointer
from coderag.text.tokenizer import TOKENIZER_VERSION
from coderag.workspace.edit_debouncer import DEFAULT_MAX_DELAY_S, DEFAULT_QUIET_S, EditDebouncer
from coderag.workspace.engines import EngineStamp, get_index_folder
from coderag.workspace.index_queue import IndexQueue, IndexRequest
from coderag.workspace.jobs import IndexJob, JobView
from coderag.workspace.results import RepositoryEvent

_FIRST_RUN_DELAY_S: Final = 2.0  # the first queries go before the run that catches up
_RETRY_S: Final = 10.0  # delay after a failed run, doubled each time
_MAX_RETRIES: Final = 5
_WARM_WINDOW_S: Final = 600.0  # a repository used within this time opens a new index at once

_BASE_BYTES: Final = 5_000_000
_CHUNK_BYTES: Final = 12_500  # see docs/operating/load.md

_ANY_PATH: Final = ""  # stands for any path, see `CodeRAG`

_logger = logging.getLogger(__name__)


class _UseCounter:
    """Counter of the uses of a repository, shared by the objects of its readers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    @contextmanager
    def count_use(self) -> Iterator[None]:
        with self._lock:
            self.count += 1
        try:
            yield
        finally:
            with self._lock:
                self.count -= 1


class OpenRepository:
    """An open repository. Thread-safe.

    Its engine still answers after the repository is closed, but edits are no longer followed.

    Args:
        engine: Engine of the repository.
        name: Unique name, in federated results and as an alias of the folder.
        stamp: Stamp of the engine's settings.
        queue: Queue of its jobs.
        notify: Called with its events.
        watch: Whether edits are followed and indexed.
    """

    def __init__(
        self,
        engine: CodeRAG,
        name: str,
        stamp: EngineStamp,
        queue: IndexQueue,
        notify: Callable[[RepositoryEvent], None],
        *,
        watch: bool,
    ) -> None:
        self.engine = engine
        self.name = name
        self.stamp = stamp
        self.noted_at = self.used_at = time.monotonic()
        self._index_folder = get_index_folder(engine)
        self._queue = queue
        self._notify = notify
        self._watch = watch
        self._request = IndexRequest(str(self.root), stamp.trusted, self._take_edits)
        self._edits = EditDebouncer(self._update_index, quiet_s=DEFAULT_QUIET_S, max_delay_s=DEFAULT_MAX_DELAY_S)
        self._lock = threading.Lock()
        self._uses = _UseCounter()
        self._failure_count = 0
        self._check_index: Callable[[], None] = _allow
        self._is_followed = False
        self._was_followed_at_start = False  # whether edits were followed when the current run began
        self._has_all_edits = False  # whether the pending edits are complete since the last scan
        self._generation, self._n_chunks = self._read_generation()

    @property
    def root(self) -> Path:
        """Its folder."""
        return self.engine.root

    @property
    def place(self) -> str:
        """Its folder in replies, or what its reader calls it."""
        return self.engine.place

    @property
    def is_indexed(self) -> bool:
        """Return whether there is a usable index; errors of a broken one are reported by `index`."""
        pointer = self._read_pointer()
        return pointer is not None and pointer.tokenizer == TOKENIZER_VERSION

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that it is estimated to take once it has answered a query."""
        return _BASE_BYTES + _CHUNK_BYTES * self._n_chunks

    @property
    def is_watched(self) -> bool:
        """Return whether its edits are followed and indexed."""
        return self._watch and self._is_followed

    @property
    def job(self) -> IndexJob | None:
        """The running indexing job, or the last one of this process."""
        return self._queue.find_current_job(str(self.root))

    @property
    def is_busy(self) -> bool:
        """Return whether it is in use, or has a queued or running job."""
        return self._uses.count > 0 or self._queue.is_active(str(self.root))

    @contextmanager
    def keep_open(self) -> Iterator["OpenRepository"]:
        """Protect it from LRU eviction within the block."""
        with self._uses.count_use():
            yield self

    def with_reader(self, reader: Reader, name: str, check_index: Callable[[], None]) -> "OpenRepository":
        """Return the same repository as a reader of a shared workspace sees it.

        Args:
            reader: The reader.
            name: Name of the repository for the reader.
            check_index: Called before a job is started; raises an error if the reader may not.
        """
        variant = copy(self)
        variant.engine = self.engine.with_reader(reader)
        variant.name = name
        variant._check_index = check_index
        return variant

    def index(self, *, full: bool = False) -> IndexJob:
        """Start to update the index and return the job; a running job is joined.

        Raises:
            ServiceError: The workspace is closed.
            PermissionDeniedError: The reader may not index it.
        """
        self._check_index()
        return self._queue.submit(self._request, full=full)

    def find_preview_hits(self, query: str, top_k: int) -> list[SearchHit]:
        """Find hits by a quick keyword scan, for a repository that is not indexed yet.

        Raises:
            InvalidQueryError: The query is empty or too long.
        """
        from coderag.workspace.preview import find_preview_hits  # noqa: PLC0415  # loads the parser

        return find_preview_hits(self.root, self.engine.settings.ingestion, query, top_k)

    def start_following(self) -> None:
        """Follow its edits, and schedule a run that catches up with missed ones."""
        if self._watch and self.is_indexed:
            self._follow()
            self._edits.hold(_FIRST_RUN_DELAY_S)
            self._edits.note(())

    def note_edits(self, paths: Collection[str]) -> None:
        """Record files that may differ from the index; they are indexed after a quiet interval.

        Args:
            paths: Paths relative to the root; an empty one stands for all.
        """
        self._notify(RepositoryEvent("edited", str(self.root)))
        if self._watch:
            self._edits.note(paths)

    def note_end(self, view: JobView) -> None:
        """Handle the end of one of its jobs."""
        if view.state == "done":
            self._failure_count = 0
            self._has_all_edits = self._was_followed_at_start
            if self._watch:
                self._follow()
            if self.check_generation() and time.monotonic() < self.used_at + _WARM_WINDOW_S:
                self._warm()
        elif view.state == "failed" and self._watch and self.is_indexed and self._failure_count < _MAX_RETRIES:
            self._edits.hold(_RETRY_S * 2**self._failure_count)
            self._failure_count += 1
            self._edits.note(())

    def check_generation(self) -> bool:
        """Check for a new generation of the index and send an event for it. Takes 0.1 ms."""
        current, n_chunks = self._read_generation()
        with self._lock:
            has_changed, self._generation, self._n_chunks = current != self._generation, current, n_chunks
        if has_changed:
            self._notify(RepositoryEvent("generation", str(self.root)))
        return has_changed

    def release(self) -> None:
        """Stop following its edits; a running job continues."""
        self._edits.close()
        self.engine.close()
        self._notify(RepositoryEvent("closed", str(self.root)))

    def close(self) -> None:
        """Release it and cancel its jobs."""
        self._queue.cancel_all(str(self.root))
        self.release()

    def _follow(self) -> None:
        self.engine.follow()
        self._is_followed = True

    def _update_index(self) -> None:
        """Index pending edits with a new job: the running one may have passed them already."""
        try:
            if self.is_indexed:
                self._queue.submit(self._request, for_edits=True)
        except ServiceError:  # the workspace was closed
            _logger.debug("%s is not indexed any more", self.root)

    def _take_edits(self) -> Collection[str] | None:
        edits = self._edits.take()
        has_all_edits, self._has_all_edits = self._has_all_edits, False
        self._was_followed_at_start = self._is_followed
        return edits if has_all_edits and _ANY_PATH not in edits else None

    def _warm(self) -> None:
        """Open the new generation ahead of the next query."""
        try:
            self.engine.with_search(self.engine.settings.search)
        except CodeRAGError as error:  # the next query reports it
            _logger.info("The new index of %s was not opened: %s", self.root, error)

    def _read_pointer(self) -> Pointer | None:
        try:
            return read_pointer(self._index_folder)
        except StoreError:
            return None

    def _read_generation(self) -> tuple[tuple[int, str] | None, int]:
        """Return the identity of the current generation and its number of chunks."""
        pointer = self._read_pointer()
        return (pointer.identity, pointer.chunks) if pointer else (None, 0)


def _allow() -> None:
    """Let the owner do everything."""
