"""Worker processes for the jobs of indexing, and what happens when one of them dies.

Not `multiprocessing`: its pools import the caller's main module again, so that a script without the `__main__` idiom
would index itself for ever, and a worker that dies breaks the pool. Here it costs one file its syntax tree.
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
"""Workers without a job for so long are ended; starting one takes about 0.4 s."""

_JOBS_AHEAD_PER_WORKER = 2  # for each worker: enough to keep it busy, few enough to bound memory


class WorkerPool:
    """Some worker processes, started when needed and ended when idle. Several threads may run jobs at once.

    Args:
        size: How many for one run, and how many are kept for the next, at most.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self._idle_timer: threading.Timer | None = None
        self._process_id = os.getpid()
        atexit.register(self.close)

    def run(self, jobs: "Iterable[ParseJob]", settings: "RunSettings") -> "Iterator[JobResult]":
        """Yield the result of each job, in their order, a few jobs ahead of the one that is asked for.

        Raises:
            IngestionError: A fault of ours, or no worker can be started.
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
                if not finished:  # interrupted: nobody waits for what is under way
                    for future in waiting:
                        future.cancel()
                    run_workers.end()
        run_workers.release_all()

    @contextmanager
    def lend(self, function: str) -> Iterator[Pipes]:
        """Lend a worker for work of another kind, see `coderag.system.process_messages.ProcessLender`.

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
        """Start the workers that a run is about to need, while it still looks for files.

        Raises:
            IngestionError: No worker can be started.
        """
        with self._lock:
            missing = self._size - len(self._idle)
        self.release(WorkerProcess() for _ in range(missing))

    def acquire(self) -> WorkerProcess:
        """Return a worker of which nobody else has the use."""
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker
                worker.close()
        return WorkerProcess()

    def release(self, workers: Iterable[WorkerProcess]) -> None:
        """Take back workers that have done their jobs, for the next run that begins soon."""
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
        """End the workers that have nothing to do."""
        if self._process_id != os.getpid():
            return  # a fork of the process whose workers they are
        with self._lock:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()


class _RunWorkers:
    """The workers of one run: one a thread, so that each does its jobs in their order, as `Vocabulary` requires."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._workers: dict[int, WorkerProcess] = {}  # by thread
        self._lock = threading.Lock()
        self._ended = False

    def get_own(self) -> WorkerProcess:
        """Return the worker of this thread.

        Raises:
            IngestionError: The run was ended.
        """
        thread = threading.get_ident()
        with self._lock:
            if self._ended:
                raise IngestionError("indexing was interrupted")
            if thread not in self._workers:
                self._workers[thread] = self._pool.acquire()
            return self._workers[thread]

    def drop_own(self) -> None:
        """Do without the worker of this thread, which has died."""
        with self._lock:
            worker = self._workers.pop(threading.get_ident(), None)
        if worker:
            worker.close()

    def end(self) -> None:
        """End all workers, whatever they are doing."""
        with self._lock:
            self._ended = True
            workers = [*self._workers.values()]
            self._workers.clear()
        for worker in workers:
            worker.close()

    def release_all(self) -> None:
        """Leave the workers to other runs."""
        for worker in self._workers.values():
            worker.end_run()
        self._pool.release(worker for worker in self._workers.values() if worker.is_alive)


def _run_job(job: "ParseJob", settings: "RunSettings", workers: _RunWorkers) -> "JobResult":
    """Do a job; when a worker dies of a file, do it again with more care for that file."""
    is_second_try = False
    while True:
        worker = workers.get_own()
        try:
            return worker.run_job(job, settings)
        except WorkerDiedError as error:
            workers.drop_own()
            if not is_second_try and (error.is_external or error.position is None):
                is_second_try = True  # no file need be to blame
            elif error.position is None:
                raise IngestionError(f"worker processes end at once: {error}", hint=NO_WORKERS_HINT) from error
            else:
                job = _degrade_job(job, error)


def _degrade_job(job: "ParseJob", error: WorkerDiedError) -> "ParseJob":
    """Return the job to do instead: with the file that was under way, or else every one, treated with more care."""
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
    """Return this process's pool of so many workers: repositories that are indexed in turn share them."""
    return _pools.get(size) or _pools.setdefault(size, WorkerPool(size))


def build_helpers(configured: int | None) -> HelperProcesses | None:
    """Return the processes that may help this one between two runs: as many as are wanted, less this one."""
    size = count_workers(configured)
    return HelperProcesses(size - 1, get_shared_pool(size).lend) if size > 1 else None


def count_workers(configured: int | None) -> int:
    """Return how many workers to have: as many as wanted, or one a core that this process may use, at most eight."""
    if configured is not None:
        return configured
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)
