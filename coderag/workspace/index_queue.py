"""Queue of indexing jobs of all repositories, processed by one writer process."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from coderag.errors import CodeRAGError, IndexLockedError, IngestionError, ServiceError
from coderag.schema.indexing import IndexReport
from coderag.workspace.jobs import ENDED_STATES, IndexJob
from coderag.workspace.writer import IndexTaskRunner, WriterProcess
from coderag.workspace.writer_messages import IndexTask

DEFAULT_IDLE_S: Final = 60.0
"""Seconds without work after which the process is ended; starting one takes about two seconds."""

_RETRY_S: Final = 0.5  # while another process writes the index
_MAX_ENDED_JOBS: Final = 100  # ended jobs that are remembered

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """A request to index a repository.

    Attributes:
        root: Its folder.
        trusted: Whether the user trusts it.
        take_edits: Returns all paths that may have been edited since the last job began; None if unknown. Called when
            the job begins.
    """

    root: str
    trusted: bool
    take_edits: Callable[[], Collection[str] | None]


@dataclass(slots=True)
class _QueueEntry:
    request: IndexRequest
    job: IndexJob
    needs_scan: bool
    not_before: float = 0.0
    is_cancelled: bool = False


class IndexQueue:
    """FIFO queue of indexing jobs, one at a time. Thread-safe.

    Args:
        on_change: Called from any thread when a job has changed.
        start_writer: Starts the runner of tasks; by default a process.
        idle_s: Seconds without work after which the runner is ended.
    """

    def __init__(
        self,
        on_change: Callable[[IndexJob], None],
        start_writer: Callable[[], IndexTaskRunner] = WriterProcess,
        idle_s: float = DEFAULT_IDLE_S,
    ) -> None:
        self._on_change = on_change
        self._start_writer = start_writer
        self._idle_s = idle_s
        self._changed = threading.Condition()
        self._waiting: list[_QueueEntry] = []
        self._running: _QueueEntry | None = None
        self._ended: deque[IndexJob] = deque(maxlen=_MAX_ENDED_JOBS)
        self._writer: IndexTaskRunner | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def submit(self, request: IndexRequest, *, full: bool = False, for_edits: bool = False) -> IndexJob:
        """Return the job of a request: a queued one, the running one, or a new one.

        Args:
            full: Whether to rebuild everything. A running job that does not is not joined.
            for_edits: Whether only known edits are indexed, without a scan; the running job is not joined, as it may
                have begun before them.

        Raises:
            ServiceError: The workspace is closed.
        """
        with self._changed:
            if self._is_closed:
                raise ServiceError("the workspace is closed", hint="Start the service again.")
            waiting = next((entry for entry in self._waiting if entry.request.root == request.root), None)
            running = self._running if self._running and self._running.request.root == request.root else None
            if waiting is None and running and not for_edits and (running.job.view.full or not full):
                return running.job
            entry = waiting or self._add_entry(request, full=full)
            entry.needs_scan = entry.needs_scan or not for_edits
        if waiting is None:
            entry.job.watch(lambda _: self._on_change(entry.job))
        elif full and not entry.job.view.full:
            entry.job.update({"full": True})
        with self._changed:
            self._wake_worker()
        return entry.job

    def find_current_job(self, root: str) -> IndexJob | None:
        """Find the running job of a repository, else the queued one, else the last one."""
        with self._changed:
            active = [self._running] if self._running else []
            jobs = [entry.job for entry in (*active, *self._waiting)] + list(reversed(self._ended))
        return next((job for job in jobs if job.view.root == root), None)

    def list_jobs(self) -> list[IndexJob]:
        """List all known jobs, the last requested first."""
        with self._changed:
            active = [self._running] if self._running else []
            return [entry.job for entry in reversed((*active, *self._waiting))] + list(reversed(self._ended))

    def is_active(self, root: str) -> bool:
        """Return whether a job of a repository is queued or running."""
        job = self.find_current_job(root)
        return job is not None and job.view.state not in ENDED_STATES

    @property
    def writer(self) -> IndexTaskRunner | None:
        """The runner of tasks, if it has been started."""
        return self._writer

    def cancel_all(self, root: str) -> None:
        """Cancel the jobs of a repository."""
        for job in self.list_jobs():
            if job.view.root == root:
                job.cancel()

    def close(self) -> None:
        """Cancel all jobs; return when the process and the thread have ended."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            thread = self._thread
        for job in self.list_jobs():
            job.cancel()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _add_entry(self, request: IndexRequest, *, full: bool) -> _QueueEntry:
        entry: _QueueEntry
        job = IndexJob(request.root, full=full, cancel=lambda: self._cancel(entry))
        entry = _QueueEntry(request, job, needs_scan=False)
        self._waiting.append(entry)
        return entry

    def _wake_worker(self) -> None:
        """Start or wake the worker thread; the lock must be held."""
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run_worker, name="index jobs", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _cancel(self, entry: _QueueEntry) -> None:
        with self._changed:
            entry.is_cancelled = True
            is_waiting = entry in self._waiting
            if is_waiting:
                self._waiting.remove(entry)
                self._ended.append(entry.job)
            elif self._running is entry and self._writer is not None:
                self._writer.kill()
        if is_waiting:
            entry.job.update({"state": "cancelled"})

    def _run_worker(self) -> None:
        while not self._is_closed:
            entry = self._wait_for_entry()
            if entry is None:
                self._end_writer()
            else:
                self._run_entry(entry)
        self._end_writer()

    def _wait_for_entry(self) -> _QueueEntry | None:
        """Wait for the next entry; None after the idle time or when the queue is closed."""
        idle_at = time.monotonic() + self._idle_s
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                ready = next((entry for entry in self._waiting if entry.not_before <= now), None)
                if ready is not None:
                    self._waiting.remove(ready)
                    self._running = ready
                    return ready
                wake_at = min((entry.not_before for entry in self._waiting), default=idle_at)
                if wake_at <= now:
                    if self._writer is not None:
                        return None
                    idle_at = now + self._idle_s
                self._changed.wait(max(0.0, wake_at - now) if self._writer or self._waiting else None)
        return None

    def _run_entry(self, entry: _QueueEntry) -> None:
        entry.job.update({"state": "running", "error": "", "hint": ""})
        try:
            report = self._index_entry(entry)
        except CodeRAGError as error:
            self._fail(entry, error)
        except Exception as error:  # an internal error ends one job, not the queue
            _logger.exception("Indexing %s failed", entry.request.root)
            self._fail(entry, IngestionError(f"{entry.request.root}: {error!r}", hint="This is a bug in CodeRAG."))
        else:
            self._end(entry, {"state": "done", "report": report})

    def _index_entry(self, entry: _QueueEntry) -> IndexReport:
        request = entry.request
        writer = self._ensure_writer()
        edits = request.take_edits()
        edited_paths = None if edits is None or entry.needs_scan else sorted(edits)
        task = IndexTask(request.root, request.trusted, entry.job.view.full, edited_paths)
        if entry.is_cancelled:  # cancelled while the process was starting; later cancels kill it
            raise IngestionError("cancelled")
        return writer.run_task(task, lambda progress: entry.job.update({"progress": progress}))

    def _fail(self, entry: _QueueEntry, error: CodeRAGError) -> None:
        if entry.is_cancelled:
            self._end(entry, {"state": "cancelled"})
        elif isinstance(error, IndexLockedError):
            self._put_back(entry, error)
        else:
            _logger.warning("Indexing %s failed: %s", entry.request.root, error)
            entry.job.error = error
            self._end(entry, {"state": "failed", "error": str(error), "hint": error.hint})

    def _put_back(self, entry: _QueueEntry, error: IndexLockedError) -> None:
        """Requeue a job while another process writes its index; others go first."""
        entry.not_before = time.monotonic() + _RETRY_S
        entry.job.update({"state": "queued", "error": str(error), "hint": error.hint})
        with self._changed:
            self._running = None
            self._waiting.insert(0, entry)

    def _end(self, entry: _QueueEntry, changes: dict[str, object]) -> None:
        with self._changed:
            self._running = None
            self._ended.append(entry.job)
        entry.job.update(changes)

    def _ensure_writer(self) -> IndexTaskRunner:
        if self._writer is None or not self._writer.is_alive:
            self._end_writer()
            writer = self._start_writer()
            with self._changed:
                self._writer = writer
            return writer
        return self._writer

    def _end_writer(self) -> None:
        with self._changed:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
