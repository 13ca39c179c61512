"""Views of new generations, computed ahead of the next visit for repositories whose views were visited before."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from coderag.errors import CodeRAGError
from coderag.workspace.view_process import GRAPH, PROJECTION
from coderag.workspace.view_worker import ViewEnd, ViewTask, ViewWorker

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.stores.snapshot import Snapshot

QUIET_S: Final = 30.0
"""Seconds without a new generation before its views are computed."""

MIN_CHUNKS: Final = 3_000
"""Views of fewer chunks are computed at the visit: a process takes longer to start."""

_REST_FACTOR: Final = 10.0
"""A repository's views rest so many times as long as their last computation took: a map of a minute is drawn at most every
ten minutes, however often files are edited."""

_RETRY_S: Final = 15.0

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Schedule:
    engine: "CodeRAG"
    timer: threading.Timer | None = None
    not_before: float = 0.0
    directory: str = ""  # of the index, once it was read


class ViewRefresher:
    """Computes views ahead: when an index was not changed for a while, rarely if they are large, never two at once.

    A newer generation of the same repository cancels the computation. Thread-safe.

    Args:
        worker: The process that computes them.
        is_busy: Returns whether a repository has a queued or running job.
        quiet_s: Seconds without a new generation before its views are computed.
    """

    def __init__(self, worker: ViewWorker, is_busy: Callable[[str], bool], *, quiet_s: float = QUIET_S) -> None:
        self._worker = worker
        self._is_busy = is_busy
        self._quiet_s = quiet_s
        self._lock = threading.Lock()
        self._schedules: dict[str, _Schedule] = {}
        self._is_closed = False

    def note_generation(self, root: str, engine: "CodeRAG") -> None:
        """Note that a repository has, or may have, a generation without views."""
        with self._lock:
            schedule = self._schedules.setdefault(root, _Schedule(engine))
            schedule.engine = engine
            self._start_timer(root, schedule, self._quiet_s)
            directory = schedule.directory
        self._worker.cancel_ahead(directory)

    def note_end(self, end: ViewEnd) -> None:
        """Note the end of a computation ahead: the next one of this index waits in proportion to its duration."""
        if not end.task.is_ahead:
            return
        with self._lock:
            for schedule in self._schedules.values():
                if schedule.directory == end.task.key[0]:
                    schedule.not_before = time.monotonic() + _REST_FACTOR * end.seconds
        if end.error is not None and not end.is_cancelled:
            _logger.warning("The views of %s were not computed: %s", end.task.key[0], end.error)

    def forget(self, root: str) -> None:
        """Forget a repository that was closed."""
        with self._lock:
            schedule = self._schedules.pop(root, None)
            if schedule is not None and schedule.timer is not None:
                schedule.timer.cancel()

    def close(self) -> None:
        """Compute nothing any more."""
        with self._lock:
            self._is_closed = True
            roots = list(self._schedules)
        for root in roots:
            self.forget(root)

    def _start_timer(self, root: str, schedule: _Schedule, delay_s: float) -> None:
        """Start the timer of a repository anew; the lock must be held."""
        if schedule.timer is not None:
            schedule.timer.cancel()
        if self._is_closed:
            return
        schedule.timer = threading.Timer(
            max(delay_s, schedule.not_before - time.monotonic()), self._refresh, (root, schedule)
        )
        schedule.timer.daemon = True
        schedule.timer.name = "views"
        schedule.timer.start()

    def _refresh(self, root: str, schedule: _Schedule) -> None:
        """Compute the outdated views of a repository, or wait until that is possible."""
        try:
            snapshot = schedule.engine.open_generation()
            schedule.directory = str(snapshot.directory)
            method = schedule.engine.settings.web.projection
            views = list_outdated_views(snapshot)
            if not views:
                return
            task = ViewTask((schedule.directory, snapshot.pointer.identity), views, method, is_ahead=True)
            is_started = not self._is_busy(root) and self._worker.start(task) is not None
        except CodeRAGError as error:  # the next visit reports it
            _logger.info("The views of %s are not computed ahead: %s", root, error)
            return
        with self._lock:
            is_current = self._schedules.get(root) is schedule
            if is_current and not is_started:
                self._start_timer(root, schedule, _RETRY_S)


def list_outdated_views(snapshot: "Snapshot") -> list[str]:
    """List the views that a generation lacks and an earlier one has."""
    from coderag.engine.stored_overviews import FILE_NAME as OVERVIEWS  # noqa: PLC0415  # loads numpy
    from coderag.retrieval.projection.projection import FILE_NAME as MAP  # noqa: PLC0415
    from coderag.stores.view_files import ViewFiles  # noqa: PLC0415

    if len(snapshot) < MIN_CHUNKS:
        return []
    files = ViewFiles(snapshot.directory, snapshot.pointer)
    names = {GRAPH: OVERVIEWS, PROJECTION: MAP}
    return [view for view, name in names.items() if not files.has(name) and files.has_previous(name)]
