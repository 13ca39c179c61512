"""Pool of worker processes for the jobs of indexing, and recovery from crashed workers.

`multiprocessing` is not used: its pools import the caller's main module again, so a script without the `__main__` idiom
would start itself forever, and a crashed worker breaks the pool. Here a crash costs one file its syntax tree.
"""

import atexit
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from coderag.errors import IngestionError
from coderag.ingestion.workers.worker_process import NO_WORKERS_HINT, WorkerDiedError, WorkerProcess
from coderag.system.process_messages import HelperProcesses, Pipes

if TYPE_CHECKING:
    from coderag.ingestion.workers.jobs import JobResult, ParseJob, RunSettings

IDLE_TIMEOUT_S = 60.0
"""Idle time after which workers are stopped; starting a worker takes about 0.4 s."""

_JOBS_AHEAD_PER_WORKER = 2  # keeps workers busy and bounds memory


class WorkerPool:
    """Worker processes, started on demand and stopped when idle. Several threads may run jobs at once.

    Args:
        size: Number of workers for one run, and maximum number of idle workers.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self._idle_timer: threading.Timer | None = None
        self._process_id = os.getpid()
        atexit.register(self.close)

    def run(self, jobs: "Iterable[ParseJob]", settings: "RunSettings") -> "Iterator[JobResult]":
        """Yield the result of each job, in order, running a few jobs ahead.

        Raises:
            IngestionError: An internal error, or no worker can be started.
        """
        run_workers = _RunWorkers(self)
        waiting: deque[Future[JobResult]] = deque()
        finished = False
        with ThreadPoolExecutor(self._size, "indexing") as threads:
            try:
                for job in jobs:
                    waiting.append(threads.submit(_run_job, job, settings, run_workers))
                    if len(waiting) > _JOBS_AHEAD_PER_WORKER * self._size:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
                finished = True
            finally:
                if not finished:  # interrupted: nothing consumes the running jobs
                    for future in waiting:
                        future.cancel()
                    run_workers.end()
        run_workers.release_all()

    @contextmanager
    def lend(self, function: str) -> Iterator[Pipes]:
        """Lend a worker for other work, see `coderag.system.process_messages.Lend`.

        Raises:
            IngestionError: No worker can be started.
            OSError: The worker is gone.
        """
        worker = self.acquire()
        try:
            yield worker.call_function(function)
        except BaseException:
            worker.close()
            raise
        worker.await_return()
        self.release([worker] if worker.is_alive else [])

    def prepare(self) -> None:
        """Start the workers of an upcoming run during its scan.

        Raises:
            IngestionError: No worker can be started.
        """
        with self._lock:
            missing = self._size - len(self._idle)
        self.release(WorkerProcess() for _ in range(missing))

    def acquire(self) -> WorkerProcess:
        """Return a worker for exclusive use."""
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker
                worker.close()
        return WorkerProcess()

    def release(self, workers: Iterable[WorkerProcess]) -> None:
        """Return workers to the pool for the next run."""
        with self._lock:
            self._idle += workers
            excess, self._idle = self._idle[self._size :], self._idle[: self._size]
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            self._idle_timer = threading.Timer(IDLE_TIMEOUT_S, self.close)
            self._idle_timer.daemon = True
            self._idle_timer.start()
        for worker in excess:
            worker.close()

    def close(self) -> None:
        """Stop the idle workers."""
        if self._process_id != os.getpid():
            return  # in a fork: the workers belong to the parent process
        with self._lock:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()


class _RunWorkers:
    """Workers of one run, one per thread, so that each runs its jobs in order, as `Vocabulary` requires."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._workers: dict[int, WorkerProcess] = {}  # by thread
        self._lock = threading.Lock()
        self._ended = False

    def get_own(self) -> WorkerProcess:
        """Return the worker of this thread.

        Raises:
            IngestionError: The run was interrupted.
        """
        thread = threading.get_ident()
        with self._lock:
            if self._ended:
                raise IngestionError("indexing was interrupted")
            if thread not in self._workers:
                self._workers[thread] = self._pool.acquire()
            return self._workers[thread]

    def drop_own(self) -> None:
        """Discard the crashed worker of this thread."""
        with self._lock:
            worker = self._workers.pop(threading.get_ident(), None)
        if worker:
            worker.close()

    def end(self) -> None:
        """Stop all workers, busy or not."""
        with self._lock:
            self._ended = True
            workers = [*self._workers.values()]
            self._workers.clear()
        for worker in workers:
            worker.close()

    def release_all(self) -> None:
        """Return the workers to the pool."""
        for worker in self._workers.values():
            worker.end_run()
        self._pool.release(worker for worker in self._workers.values() if worker.is_alive)


def _run_job(job: "ParseJob", settings: "RunSettings", workers: _RunWorkers) -> "JobResult":
    """Run a job; after a crash, run it again with a safer treatment of the file."""
    is_second_try = False
    while True:
        worker = workers.get_own()
        try:
            return worker.run_job(job, settings)
        except WorkerDiedError as error:
            workers.drop_own()
            if not is_second_try and (error.is_external or error.position is None):
                is_second_try = True  # no file is necessarily the cause
            elif error.position is None:
                raise IngestionError(f"worker processes end immediately: {error}", hint=NO_WORKERS_HINT) from error
            else:
                job = _degrade_job(job, error)


def _degrade_job(job: "ParseJob", error: WorkerDiedError) -> "ParseJob":
    """Return the job to run after a crash: with a safer treatment of the current file, or of all files."""
    positions = [error.position] if error.position is not None and error.position >= 0 else range(len(job.files))
    for position in positions:
        job = job.degrade(position, str(error))
    return job


_pools: dict[int, WorkerPool] = {}


def _forget_pools() -> None:
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def get_shared_pool(size: int) -> WorkerPool:
    """Return this process's pool of a size, which all repositories share."""
    return _pools.get(size) or _pools.setdefault(size, WorkerPool(size))


def build_helpers(configured: int | None) -> HelperProcesses | None:
    """Return the processes that may help this one between runs: the configured number, less this one."""
    size = count_workers(configured)
    return HelperProcesses(size - 1, get_shared_pool(size).lend) if size > 1 else None


def count_workers(configured: int | None) -> int:
    """Return the number of workers: as configured, or one per available core, at most eight."""
    if configured is not None:
        return configured
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)
