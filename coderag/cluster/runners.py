"""Runners of tasks: where the repositories of a run are indexed."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

from coderag.cluster.repository_task import RepositoryTask, index_repository
from coderag.schema.cluster import RepositoryResult

EndedTask = tuple[RepositoryTask, RepositoryResult]


class TaskRunner(Protocol):
    """Runner of tasks on some machines."""

    @property
    def capacity(self) -> int:
        """Number of tasks at the same time, which its caller keeps to."""
        ...

    def submit(self, task: RepositoryTask) -> None:
        """Start a task."""
        ...

    def wait(self) -> Sequence[EndedTask]:
        """Wait until a task has ended, and return those that have. One whose process died has failed, retryable."""
        ...

    def close(self) -> None:
        """Stop all tasks."""
        ...


class LocalRunner:
    """Runner in processes of this machine, each with one task, so that one that dies takes no other with it.

    Args:
        processes: Tasks at the same time.
    """

    def __init__(self, processes: int) -> None:
        self.capacity = processes
        self._idle = [_start_process() for _ in range(processes)]
        self._running: dict[Future[RepositoryResult], tuple[RepositoryTask, ProcessPoolExecutor]] = {}

    def submit(self, task: RepositoryTask) -> None:
        """Start a task. See `TaskRunner`."""
        process = self._idle.pop()
        try:
            future = process.submit(index_repository, task)
        except BrokenProcessPool:  # it died while it was idle
            process = _start_process()
            future = process.submit(index_repository, task)
        self._running[future] = task, process

    def wait(self) -> Sequence[EndedTask]:
        """Wait for a task. See `TaskRunner`."""
        ended, _ = wait(self._running, return_when=FIRST_COMPLETED)
        return [self._take(future) for future in ended]

    def close(self) -> None:
        """Stop all tasks. See `TaskRunner`."""
        for process in [*self._idle, *(process for _, process in self._running.values())]:
            children = list((process._processes or {}).values())
            process.shutdown(wait=False, cancel_futures=True)
            for child in children:
                child.terminate()

    def _take(self, future: "Future[RepositoryResult]") -> EndedTask:
        task, process = self._running.pop(future)
        try:
            result = future.result()
        except BrokenProcessPool:
            process.shutdown(wait=False)
            process, result = _start_process(), make_lost_result(task)
        self._idle.append(process)
        return task, result


def make_lost_result(task: RepositoryTask) -> RepositoryResult:
    """Make the result of a task whose process has died."""
    message = "its process has died"
    hint = "Perhaps memory ran out: look at the system's log, or use fewer processes."
    return RepositoryResult(task.repository.name, "failed", error=message, hint=hint, is_retryable=True)


def _start_process() -> ProcessPoolExecutor:
    # A fork would copy the threads of Lance, which do not survive it.
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
