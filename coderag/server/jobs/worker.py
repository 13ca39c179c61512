"""Worker that runs jobs: it fetches a repository and has it indexed, while a second thread keeps the lease."""

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from coderag.errors import CodeRAGError, DatabaseUnavailableError
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.folder_lock import FolderBusyError
from coderag.server.repositories.git_runner import ProgressCallback
from coderag.server.repositories.service import RepositoryService
from coderag.server.storage.models import Job

IndexFunction = Callable[[Path, ProgressCallback], Mapping[str, str]]
"""Indexes a checkout, and returns by its name why each source was not synchronised completely.

It calls the given function with its progress at least every few seconds, lets the `JobStoppedError` of that function pass after
it has stopped the run, and returns when the index is complete.
"""

_IDLE_S: Final = 1.0
_OUTAGE_S: Final = 5.0
_BUSY_DELAY_S: Final = 15.0
_TICK_S: Final = 1.0
_RENEWALS: Final = 4
_MAX_RENEWAL_S: Final = 5.0  # a renewal also shows that the job was cancelled

_log = logging.getLogger(__name__)


class JobStoppedError(Exception):
    """The job was cancelled, its repository removed, its lease lost, or the worker is stopping."""


class Worker:
    """Runs one job at a time.

    Args:
        queue: Queue of jobs.
        repositories: Their repositories.
        index: Indexes a checkout.
        name: Name, unique among all workers; by default made of host, process and chance.
        idle_s: Seconds between looks at an empty queue.
    """

    def __init__(
        self,
        queue: JobQueue,
        repositories: RepositoryService,
        index: IndexFunction,
        *,
        name: str = "",
        idle_s: float = _IDLE_S,
    ) -> None:
        self._queue = queue
        self._repositories = repositories
        self._index = index
        self._idle_s = idle_s
        self.name = name or f"{socket.gethostname()[:100]}:{os.getpid()}:{secrets.token_hex(4)}"

    def run(self, stop: threading.Event) -> None:
        """Run jobs until `stop` is set; a job that is running then goes back to the queue. No error ends it."""
        while not stop.is_set():
            try:
                if not self.run_next(stop):
                    stop.wait(self._idle_s)
            except DatabaseUnavailableError:
                _log.warning("the database does not answer; the worker waits")
                stop.wait(_OUTAGE_S)
            except Exception:  # noqa: BLE001  # the thread is the only one of its kind
                _log.exception("internal error of a worker")
                stop.wait(_OUTAGE_S)

    def run_next(self, stop: threading.Event | None = None) -> bool:
        """Run the next job; return whether there was one.

        Args:
            stop: Stops the job.
        """
        job = self._queue.claim(self.name)
        if job is None:
            return False
        lease = _Lease(self._queue, job, self.name, stop or threading.Event())
        try:
            with lease:
                commit, source_errors = self._run_job(job, lease)
        except JobStoppedError:
            if not lease.is_lost:
                self._queue.release(job.id, self.name)
        except FolderBusyError:
            self._queue.release(job.id, self.name, delay_s=_BUSY_DELAY_S)
        except DatabaseUnavailableError:
            raise  # the lease ends by itself, and the job is queued again
        except Exception as error:  # noqa: BLE001  # noted with the job
            self._note_failure(job, error, is_stopping=lease.is_stopping)
        else:
            self._queue.finish(job.id, self.name, commit, source_errors)
        if lease.is_lost:
            self._repositories.sweep()  # perhaps its repository was removed
        return True

    def _note_failure(self, job: Job, error: Exception, *, is_stopping: bool) -> None:
        if is_stopping:  # a run that is stopped may fail in any way
            self._queue.release(job.id, self.name)
        elif isinstance(error, CodeRAGError):
            self._queue.fail(job.id, self.name, _describe(error), is_permanent=not error.retryable)
        else:
            _log.error("internal error in a job", exc_info=error)
            self._queue.fail(job.id, self.name, f"internal error: {type(error).__name__}")

    def _run_job(self, job: Job, lease: "_Lease") -> tuple[str, Mapping[str, str]]:
        with self._repositories.open_checkout(job.repository_id, lease.check, lease.report) as fetched:
            lease.report({"phase": "indexing"})
            try:
                source_errors = self._index(fetched.checkout, lease.report)
            except CodeRAGError as error:
                error.replace_text(str(fetched.checkout.resolve()), "the repository")
                raise
            lease.check()
            return fetched.commit, source_errors


class _Lease:
    """Lease of a running job, renewed by a thread; it stores progress at most once a second."""

    def __init__(self, queue: JobQueue, job: Job, worker: str, stop: threading.Event) -> None:
        self._queue = queue
        self._job_id = job.id
        self._worker = worker
        self._stop = stop
        self._progress: dict[str, Any] | None = None
        self._is_over = threading.Event()
        self.is_lost = False
        self._thread = threading.Thread(target=self._keep, name="job-lease", daemon=True)

    def __enter__(self) -> "_Lease":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def is_stopping(self) -> bool:
        """Return whether the worker is stopping, and still holds the job."""
        return self._stop.is_set() and not self.is_lost

    def check(self) -> None:
        """Raise `JobStoppedError` if the job is to stop."""
        if self.is_lost or self._stop.is_set():
            raise JobStoppedError

    def report(self, progress: Mapping[str, Any]) -> None:
        """Note the progress. Raises as `check`."""
        self.check()
        self._progress = dict(progress)

    def _keep(self) -> None:
        interval_s = min(self._queue.lease_s / _RENEWALS, _MAX_RENEWAL_S)
        renewed = time.monotonic()
        stored: dict[str, Any] | None = None
        while not self._is_over.wait(min(_TICK_S, interval_s)):
            progress = self._progress
            if progress == stored and time.monotonic() - renewed < interval_s:
                continue
            began = time.monotonic()
            with suppress(DatabaseUnavailableError):
                if not self._queue.renew(self._job_id, self._worker, progress):
                    self.is_lost = True
                    return
                renewed, stored = began, progress
            if time.monotonic() - renewed > self._queue.lease_s:  # another worker may have it
                self.is_lost = True
                return


def _describe(error: CodeRAGError) -> str:
    return f"{error}. {error.hint}" if error.hint else str(error)
