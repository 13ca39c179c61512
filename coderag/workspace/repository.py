"""One repository of a workspace: its engine, the job that indexes it, and what follows its edits."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from coderag.app import CodeRAG
from coderag.errors import CodeRAGError, ServiceError, StoreError
from coderag.schema.search import SearchHit
from coderag.stores.pointer import Pointer, read_pointer
from coderag.text.tokenizer import TOKENIZER_VERSION
from coderag.workspace.edit_debouncer import DEFAULT_MAX_DELAY_S, DEFAULT_QUIET_S, EditDebouncer
from coderag.workspace.engines import EngineStamp, get_index_folder
from coderag.workspace.index_queue import IndexQueue, IndexRequest
from coderag.workspace.jobs import IndexJob, JobView
from coderag.workspace.results import RepositoryEvent

_FIRST_RUN_DELAY_S: Final = 2.0  # the first questions go before the run that looks what has changed meanwhile
_RETRY_S: Final = 10.0  # after a run that failed, doubled each time
_MAX_RETRIES: Final = 5
_WARM_WINDOW_S: Final = 600.0  # a repository that was used within that time is opened again when its index has changed

_ANY_PATH: Final = ""  # stands for any path, see `CodeRAG`

_logger = logging.getLogger(__name__)


class OpenRepository:
    """A repository that is open. It may be used by several threads.

    Its engine goes on answering when the repository has been closed; only its edits are not followed any more.

    Args:
        engine: Answers its questions.
        name: In results over several repositories, and to call it by; no other repository of the workspace has it.
        stamp: Of the engine.
        queue: Runs its jobs.
        tell: Is told what happens.
        watch: Whether edits are followed, and the index is brought up to date after them.
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
        self._use_count = 0
        self._failure_count = 0
        self._is_followed = False
        self._was_followed_at_start = False  # whether the run under way began when edits were followed already
        self._has_all_edits = False  # whether the gathered edits are all since the last run's walk
        self._generation = self._read_generation()

    @property
    def root(self) -> Path:
        """Its folder."""
        return self.engine.root

    @property
    def is_indexed(self) -> bool:
        """Whether there is an index that searches can use; what is wrong with a broken one is said by `index`."""
        pointer = self._read_pointer()
        return pointer is not None and pointer.tokenizer == TOKENIZER_VERSION

    @property
    def job(self) -> IndexJob | None:
        """The run of indexing that is under way, or the last one of this process."""
        return self._queue.find_current_job(str(self.root))

    @property
    def is_busy(self) -> bool:
        """Whether somebody uses it, or a job of it waits or is under way."""
        return self._use_count > 0 or self._queue.is_active(str(self.root))

    @contextmanager
    def keep_open(self) -> Iterator["OpenRepository"]:
        """Within the block, keep it from being closed as the least recently used one."""
        with self._lock:
            self._use_count += 1
        try:
            yield self
        finally:
            with self._lock:
                self._use_count -= 1

    def index(self, *, full: bool = False) -> IndexJob:
        """Begin to bring the index up to date, and return the job; the one that is under way, if there is one.

        Raises:
            ServiceError: The workspace is closed.
        """
        return self._queue.submit(self._request, full=full)

    def find_preview_hits(self, query: str, top_k: int) -> list[SearchHit]:
        """Return what a quick pass over the files finds by their words, for a repository that is not indexed yet.

        Raises:
            InvalidQueryError: The question is empty or too long.
        """
        from coderag.workspace.preview import find_preview_hits  # noqa: PLC0415  # loads the parser

        return find_preview_hits(self.root, self.engine.settings.ingestion, query, top_k)

    def start_following(self) -> None:
        """Follow its edits, and have what changed while nobody did so indexed in a moment."""
        if self._watch and self.is_indexed:
            self._follow()
            self._edits.hold(_FIRST_RUN_DELAY_S)
            self._edits.note(())

    def note_edits(self, paths: Collection[str]) -> None:
        """Note that files may differ from the index: they are indexed when there is a quiet moment.

        Args:
            paths: Relative to the root; an empty one stands for all.
        """
        self._notify(RepositoryEvent("edited", str(self.root)))
        if self._watch:
            self._edits.note(paths)

    def note_end(self, view: JobView) -> None:
        """Note that a job of it has ended."""
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
        """Whether the index has another generation than when this was last asked; then it is told. Takes 0.1 ms."""
        current = self._read_generation()
        with self._lock:
            has_changed, self._generation = current != self._generation, current
        if has_changed:
            self._notify(RepositoryEvent("generation", str(self.root)))
        return has_changed

    def release(self) -> None:
        """Follow its edits no more; a job that is under way goes on."""
        self._edits.close()
        self.engine.close()
        self._notify(RepositoryEvent("closed", str(self.root)))

    def close(self) -> None:
        """End what runs for it; its job, too."""
        self._queue.cancel_all(str(self.root))
        self.release()

    def _follow(self) -> None:
        self.engine.follow()
        self._is_followed = True

    def _update_index(self) -> None:
        """Have the edits indexed; a run that is under way may have passed them already."""
        try:
            if self.is_indexed:
                self._queue.submit(self._request, for_edits=True)
        except ServiceError:  # closed meanwhile
            _logger.debug("%s is not indexed any more", self.root)

    def _take_edits(self) -> Collection[str] | None:
        edits = self._edits.take()
        has_all_edits, self._has_all_edits = self._has_all_edits, False
        self._was_followed_at_start = self._is_followed
        return edits if has_all_edits and _ANY_PATH not in edits else None

    def _warm(self) -> None:
        """Have the engine open the new generation, so that the next question need not wait for it."""
        try:
            self.engine.with_search(self.engine.settings.search)
        except CodeRAGError as error:  # the next question says it to who asks
            _logger.info("The new index of %s was not opened: %s", self.root, error)

    def _read_pointer(self) -> Pointer | None:
        try:
            return read_pointer(self._index_folder)
        except StoreError:
            return None

    def _read_generation(self) -> tuple[int, str] | None:
        pointer = self._read_pointer()
        return pointer.identity if pointer else None
