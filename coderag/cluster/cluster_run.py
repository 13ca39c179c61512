"""A run over many repositories: what is done already, attempts, and the report."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from coderag.cluster.checkout import resolve_commit
from coderag.cluster.published_record import PublishedRecord, read_record
from coderag.cluster.repository_task import RepositoryTask, find_unchanged
from coderag.cluster.runners import TaskRunner
from coderag.config.sections import StorageSettings
from coderag.errors import CodeRAGError
from coderag.schema.cluster import ClusterPlan, ClusterProgress, ClusterReport, ClusterRepository, RepositoryResult
from coderag.stores.object_storage.bucket import Bucket
from coderag.stores.object_storage.store_setup import set_up_store

_CHECK_THREADS: Final = 16
_ASSUMED_S: Final = 20.0
"""Seconds of a repository, if none was ever indexed: 100,000 lines on two processors take about as long."""

_HOUR_S: Final = 3_600

OnProgress = Callable[[ClusterProgress], None]


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of a run.

    Attributes:
        work_folder: Folder of checkouts and indexes on each machine.
        workers: Parsing processes of a repository.
        attempts: Attempts for each repository.
        keeps_work: Whether checkouts and indexes stay for the next run.
    """

    work_folder: Path
    workers: int = 1
    attempts: int = 3
    keeps_work: bool = True


class ClusterRun:
    """Run over a list of repositories. What was published before it ends is kept, however it ends.

    Args:
        repositories: The repositories.
        storage: Section `storage` of the settings.
        options: Options of the run.

    Raises:
        ConfigurationError: The address of the store is invalid.
    """

    def __init__(
        self, repositories: Sequence[ClusterRepository], storage: Mapping[str, Any], options: ClusterOptions
    ) -> None:
        self._settings = StorageSettings.model_validate(storage)
        self._bucket = Bucket(self._settings)
        self._attempts = options.attempts
        self._tasks = [
            RepositoryTask(each, storage, options.work_folder, options.workers, options.keeps_work)
            for each in repositories
        ]

    def plan(self, processes: int, hour_price: float = 0.0) -> ClusterPlan:
        """Estimate a run from the times of earlier ones; nothing is fetched or written.

        Args:
            processes: Repositories at the same time.
            hour_price: Price of an hour of all machines.

        Raises:
            ObjectStorageError: The store cannot be read.
        """
        with ThreadPoolExecutor(_CHECK_THREADS) as threads:
            states = list(threads.map(self._read_state, self._tasks))
        records = [record for record, _ in states]
        open_records = [record for record, is_unchanged in states if not is_unchanged]
        known = [record.seconds for record in records if record is not None]
        assumed_s = median(known) if known else _ASSUMED_S
        total_s = sum(record.seconds if record is not None else assumed_s for record in open_records)
        seconds = total_s / max(1, min(processes, len(open_records)))
        return ClusterPlan(
            repositories=len(self._tasks),
            unchanged=len(states) - len(open_records),
            known=sum(record is not None for record in open_records),
            new=sum(record is None for record in open_records),
            seconds=round(seconds, 1),
            processes=processes,
            price=round(seconds / _HOUR_S * hour_price, 2),
        )

    def run(self, runner: TaskRunner, on_progress: OnProgress | None = None) -> ClusterReport:
        """Index all repositories that are not published in their current state.

        Args:
            runner: Runs the tasks.
            on_progress: Called whenever a repository has ended.

        Raises:
            ObjectStorageError: The store cannot be used at all.
        """
        started = time.monotonic()
        set_up_store(self._bucket, self._settings.grace_s)
        report = on_progress or (lambda _: None)
        results: dict[str, RepositoryResult] = {}
        attempts = dict.fromkeys((task.repository.name for task in self._tasks), 1)
        waiting = self._tasks[::-1]
        n_running = 0
        while waiting or n_running:
            while waiting and n_running < runner.capacity:
                runner.submit(waiting.pop())
                n_running += 1
            report(self._describe(results, n_running))
            for task, result in runner.wait():
                n_running -= 1
                name = task.repository.name
                if result.state == "failed" and result.is_retryable and attempts[name] < self._attempts:
                    attempts[name] += 1
                    waiting.insert(0, task)  # after all others: what was in the way may have gone by then
                else:
                    results[name] = replace(result, attempts=attempts[name])
        report(self._describe(results, 0))
        ordered = [results[task.repository.name] for task in self._tasks]
        return ClusterReport(ordered, round(time.monotonic() - started, 3))

    def _describe(self, results: dict[str, RepositoryResult], n_running: int) -> ClusterProgress:
        failed = sum(result.state == "failed" for result in results.values())
        lines = sum(result.lines for result in results.values() if result.state == "indexed")
        last = next(reversed(results), "")
        return ClusterProgress(len(self._tasks), len(results) - failed, failed, n_running, lines, last)

    def _read_state(self, task: RepositoryTask) -> tuple[PublishedRecord | None, bool]:
        """Return what was published of a repository, and whether that is its current commit, as far as git tells now."""
        repository = task.repository
        record = read_record(self._bucket, repository.name)
        if record is None or repository.is_folder:
            return record, False
        try:
            commit = resolve_commit(repository)
            return record, find_unchanged(self._bucket, repository, record, commit) is not None
        except CodeRAGError:
            return record, False
