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
from coderag.ingestion.workers.worker_process import WITHOUT_WORKERS, WorkerDiedError, WorkerProcess
from coderag.system.process_messages import HelperProcesses, Pipes

if TYPE_CHECKING:
    from coderag.ingestion.workers.jobs import Job, JobResult, RunSettings

IDLE_S = 60.0
"""Workers without a job for so long are ended; starting one takes about 0.4 s."""

_JOBS_AHEAD = 2  # for each worker: enough to keep it busy, few enough to bound memory


class WorkerPool:
    """Some worker processes, started when needed and ended when idle. Several threads may run jobs at once.

    Args:
        size: How many for one run, and how many are kept for the next, at most.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self._ending: threading.Timer | None = None
        self._process_id = os.getpid()
        atexit.register(self.close)

    def run(self, jobs: "Iterable[Job]", settings: "RunSettings") -> "Iterator[JobResult]":
        """Yield the result of each job, in their order, a few jobs ahead of the one that is asked for.

        Raises:
            IngestionError: A fault of ours, or no worker can be started.
        """
        team = _Team(self)
        waiting: deque[Future[JobResult]] = deque()
        finished = False
        with ThreadPoolExecutor(self._size, "indexing") as threads:
            try:
                for job in jobs:
                    waiting.append(threads.submit(_do, job, settings, team))
                    if len(waiting) > _JOBS_AHEAD * self._size:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
                finished = True
            finally:
                if not finished:  # interrupted: nobody waits for what is under way
                    for future in waiting:
                        future.cancel()
                    team.end()
        team.give_back()

    @contextmanager
    def lend(self, function: str) -> Iterator[Pipes]:
        """Lend a worker for work of another kind, see `coderag.system.process_messages.ProcessLender`.

        Raises:
            IngestionError: No worker can be started.
            OSError: The worker is gone.
        """
        worker = self.take()
        try:
            yield worker.send_on(function)
        except BaseException:
            worker.close()
            raise
        worker.await_return()
        self.keep([worker] if worker.alive else [])

    def prepare(self) -> None:
        """Start the workers that a run is about to need, while it still looks for files.

        Raises:
            IngestionError: No worker can be started.
        """
        with self._lock:
            missing = self._size - len(self._idle)
        self.keep(WorkerProcess() for _ in range(missing))

    def take(self) -> WorkerProcess:
        """Return a worker of which nobody else has the use."""
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
                worker.close()
        return WorkerProcess()

    def keep(self, workers: Iterable[WorkerProcess]) -> None:
        """Take back workers that have done their jobs, for the next run that begins soon."""
        with self._lock:
            self._idle += workers
            excess, self._idle = self._idle[self._size :], self._idle[: self._size]
            if self._ending is not None:
                self._ending.cancel()
            self._ending = threading.Timer(IDLE_S, self.close)
            self._ending.daemon = True
            self._ending.start()
        for worker in excess:
            worker.close()

    def close(self) -> None:
        """End the workers that have nothing to do."""
        if self._process_id != os.getpid():
            return  # a fork of the process whose workers they are
        with self._lock:
            if self._ending is not None:
                self._ending.cancel()
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()


class _Team:
    """The workers of one run: one a thread, so that each does its jobs in their order, as `Vocabulary` requires."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._workers: dict[int, WorkerProcess] = {}  # by thread
        self._lock = threading.Lock()
        self._ended = False

    def mine(self) -> WorkerProcess:
        """Return the worker of this thread.

        Raises:
            IngestionError: The run was ended.
        """
        thread = threading.get_ident()
        with self._lock:
            if self._ended:
                raise IngestionError("indexing was interrupted")
            if thread not in self._workers:
                self._workers[thread] = self._pool.take()
            return self._workers[thread]

    def drop_mine(self) -> None:
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

    def give_back(self) -> None:
        """Leave the workers to other runs."""
        for worker in self._workers.values():
            worker.end_run()
        self._pool.keep(worker for worker in self._workers.values() if worker.alive)


def _do(job: "Job", settings: "RunSettings", team: _Team) -> "JobResult":
    """Do a job; when a worker dies of a file, do it again with more care for that file."""
    is_second_try = False
    while True:
        worker = team.mine()
        try:
            return worker.do(job, settings)
        except WorkerDiedError as error:
            team.drop_mine()
            if not is_second_try and (error.by_others or error.position is None):
                is_second_try = True  # no file need be to blame
            elif error.position is None:
                raise IngestionError(f"worker processes end at once: {error}", hint=WITHOUT_WORKERS) from error
            else:
                job = _after_death(job, error)


def _after_death(job: "Job", error: WorkerDiedError) -> "Job":
    """Return the job to do instead: with the file that was under way, or else every one, treated with more care."""
    positions = [error.position] if error.position is not None and error.position >= 0 else range(len(job.files))
    for position in positions:
        job = job.degraded(position, str(error))
    return job


_pools: dict[int, WorkerPool] = {}


def _forget_pools() -> None:
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def shared_pool(size: int) -> WorkerPool:
    """Return this process's pool of so many workers: repositories that are indexed in turn share them."""
    return _pools.get(size) or _pools.setdefault(size, WorkerPool(size))


def helpers_of(wanted: int | None) -> HelperProcesses | None:
    """Return the processes that may help this one between two runs: as many as are wanted, less this one."""
    size = number_of_workers(wanted)
    return HelperProcesses(size - 1, shared_pool(size).lend) if size > 1 else None


def number_of_workers(wanted: int | None) -> int:
    """Return how many workers to have: as many as wanted, or one a core that this process may use, at most eight."""
    if wanted is not None:
        return wanted
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)
