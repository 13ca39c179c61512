"""Threads of a server process that run jobs and the scheduler."""

import threading
import time
from typing import Final

from coderag.server.jobs.queue import JobQueue
from coderag.server.jobs.scheduler import Scheduler
from coderag.server.jobs.worker import IndexFunction, Worker
from coderag.server.repositories.service import RepositoryService

_STOP_S: Final = 30.0


class JobThreads:
    """Workers and a scheduler as threads. It takes no part in a job that another process runs.

    Args:
        queue: Queue of jobs.
        repositories: Repositories of the server.
        index: Indexes a checkout.
        scheduler: Scheduler; None for a process that only works.
        size: Jobs at the same time; 0 runs none here.
    """

    def __init__(
        self,
        queue: JobQueue,
        repositories: RepositoryService,
        index: IndexFunction,
        *,
        scheduler: Scheduler | None,
        size: int,
    ) -> None:
        self._stop = threading.Event()
        workers = [Worker(queue, repositories, index) for _ in range(size)]
        runs = [worker.run for worker in workers] + ([scheduler.run] if scheduler is not None else [])
        self._threads = [
            threading.Thread(target=run, args=(self._stop,), name=f"job-{number}", daemon=True)
            for number, run in enumerate(runs)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def close(self, timeout_s: float = _STOP_S) -> bool:
        """Stop the threads, and put running jobs back; return whether all have ended within the time."""
        self._stop.set()
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            if thread.ident is not None:  # it was started
                thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)
