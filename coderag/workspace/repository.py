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
from coderag.workspace.edit_gatherer import LONGEST_S, QUIET_S, EditGatherer
from coderag.workspace.engines import EngineStamp, index_directory
from coderag.workspace.index_queue import IndexQueue, Order
from coderag.workspace.jobs import IndexJob, JobView
from coderag.workspace.results import RepositoryEvent

_AFTER_OPENING_S: Final = 2.0  # the first questions go before the run that looks what has changed meanwhile
_RETRY_S: Final = 10.0  # after a run that failed, doubled each time
_MOST_RETRIES: Final = 5
_WARM_S: Final = 600.0  # a repository that was used within that time is opened again when its index has changed

_ANY: Final = ""  # stands for any path, see `CodeRAG`

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
        tell: Callable[[RepositoryEvent], None],
        *,
        watch: bool,
    ) -> None:
        self.engine = engine
        self.name = name
        self.stamp = stamp
        self.noted_at = self.used_at = time.monotonic()
        self._index = index_directory(engine)
        self._queue = queue
        self._tell = tell
        self._watch = watch
        self._order = Order(str(self.root), stamp.trusted, self._take_edits)
        self._edits = EditGatherer(self._bring_up_to_date, quiet_s=QUIET_S, longest_s=LONGEST_S)
        self._lock = threading.Lock()
        self._uses = 0
        self._failures = 0
        self._is_followed = False
        self._began_followed = False  # whether the run under way began when edits were followed already
        self._knows_all = False  # whether the gathered edits are all since the last run's walk
        self._generation = self._current_generation()

    @property
    def root(self) -> Path:
        """Its folder."""
        return self.engine.root

    @property
    def is_indexed(self) -> bool:
        """Whether there is an index that searches can use; what is wrong with a broken one is said by `index`."""
        pointer = self._pointer()
        return pointer is not None and pointer.tokenizer == TOKENIZER_VERSION

    @property
    def job(self) -> IndexJob | None:
        """The run of indexing that is under way, or the last one of this process."""
        return self._queue.current(str(self.root))

    @property
    def is_busy(self) -> bool:
        """Whether somebody uses it, or a job of it waits or is under way."""
        return self._uses > 0 or self._queue.is_active(str(self.root))

    @contextmanager
    def using(self) -> Iterator["OpenRepository"]:
        """Within the block, keep it from being closed as the least recently used one."""
        with self._lock:
            self._uses += 1
        try:
            yield self
        finally:
            with self._lock:
                self._uses -= 1

    def index(self, *, full: bool = False) -> IndexJob:
        """Begin to bring the index up to date, and return the job; the one that is under way, if there is one.

        Raises:
            ServiceError: The workspace is closed.
        """
        return self._queue.submit(self._order, full=full)

    def preview(self, query: str, top_k: int) -> list[SearchHit]:
        """Return what a quick pass over the files finds by their words, for a repository that is not indexed yet.

        Raises:
            InvalidQueryError: The question is empty or too long.
        """
        from coderag.workspace.preview import preview  # noqa: PLC0415  # loads the parser

        return preview(self.root, self.engine.settings.ingestion, query, top_k)

    def begin(self) -> None:
        """Follow its edits, and have what changed while nobody did so indexed in a moment."""
        if self._watch and self.is_indexed:
            self._follow()
            self._edits.hold(_AFTER_OPENING_S)
            self._edits.note(())

    def note_edits(self, paths: Collection[str]) -> None:
        """Note that files may differ from the index: they are indexed when there is a quiet moment.

        Args:
            paths: Relative to the root; an empty one stands for all.
        """
        self._tell(RepositoryEvent("edited", str(self.root)))
        if self._watch:
            self._edits.note(paths)

    def note_end(self, view: JobView) -> None:
        """Note that a job of it has ended."""
        if view.state == "done":
            self._failures = 0
            self._knows_all = self._began_followed
            if self._watch:
                self._follow()
            if self.look_at_generation() and time.monotonic() < self.used_at + _WARM_S:
                self._warm()
        elif view.state == "failed" and self._watch and self.is_indexed and self._failures < _MOST_RETRIES:
            self._edits.hold(_RETRY_S * 2**self._failures)
            self._failures += 1
            self._edits.note(())

    def look_at_generation(self) -> bool:
        """Whether the index has another generation than when this was last asked; then it is told. Takes 0.1 ms."""
        current = self._current_generation()
        with self._lock:
            is_other, self._generation = current != self._generation, current
        if is_other:
            self._tell(RepositoryEvent("generation", str(self.root)))
        return is_other

    def let_go(self) -> None:
        """Follow its edits no more; a job that is under way goes on."""
        self._edits.close()
        self.engine.close()
        self._tell(RepositoryEvent("closed", str(self.root)))

    def close(self) -> None:
        """End what runs for it; its job, too."""
        self._queue.cancel_all(str(self.root))
        self.let_go()

    def _follow(self) -> None:
        self.engine.follow()
        self._is_followed = True

    def _bring_up_to_date(self) -> None:
        """Have the edits indexed; a run that is under way may have passed them already."""
        try:
            if self.is_indexed:
                self._queue.submit(self._order, for_edits=True)
        except ServiceError:  # closed meanwhile
            _logger.debug("%s is not indexed any more", self.root)

    def _take_edits(self) -> Collection[str] | None:
        edits = self._edits.take()
        knows_all, self._knows_all = self._knows_all, False
        self._began_followed = self._is_followed
        return edits if knows_all and _ANY not in edits else None

    def _warm(self) -> None:
        """Have the engine open the new generation, so that the next question need not wait for it."""
        try:
            self.engine.with_search(self.engine.settings.search)
        except CodeRAGError as error:  # the next question says it to who asks
            _logger.info("The new index of %s was not opened: %s", self.root, error)

    def _pointer(self) -> Pointer | None:
        try:
            return read_pointer(self._index)
        except StoreError:
            return None

    def _current_generation(self) -> tuple[int, str] | None:
        pointer = self._pointer()
        return pointer.identity if pointer else None
