"""Scheduler of jobs at intervals, and cleaning of what has ended. Any number of processes may run one."""

import logging
import random
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select

from coderag.errors import DatabaseUnavailableError
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.service import RepositoryService
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, WebhookDelivery

_TICK_S: Final = 15.0
_CLEAN_S: Final = 600.0
_MAX_DUE: Final = 100
_DELIVERIES_KEPT: Final = timedelta(days=7)

_log = logging.getLogger(__name__)


class Scheduler:
    """Queues jobs of repositories whose interval is over.

    Args:
        database: The database.
        queue: Queue of jobs.
        repositories: Repositories of the server.
        clock: Returns the current time.
    """

    def __init__(
        self,
        database: Database,
        queue: JobQueue,
        repositories: RepositoryService,
        *,
        clock: Callable[[], datetime] = get_time,
    ) -> None:
        self._database = database
        self._queue = queue
        self._repositories = repositories
        self._clock = clock

    def run(self, stop: threading.Event) -> None:
        """Queue jobs and clean up until `stop` is set. No error ends it."""
        cleaned = float("-inf")
        while not stop.is_set():
            try:
                self.submit_due()
                self._repositories.close_removed()
                if time.monotonic() - cleaned > _CLEAN_S:
                    self.clean()
                    cleaned = time.monotonic()
            except DatabaseUnavailableError:
                _log.warning("the database does not answer; the scheduler waits")
            except Exception:  # noqa: BLE001  # the thread is the only one of its kind
                _log.exception("internal error of the scheduler")
            stop.wait(_TICK_S)

    def submit_due(self) -> int:
        """Queue a job for each repository whose time has come; return their number."""
        now = self._clock()
        due = (
            select(HostedRepository)
            .where(HostedRepository.next_sync_at <= now)
            .order_by(HostedRepository.next_sync_at)
            .limit(_MAX_DUE)
            .with_for_update(skip_locked=True)
        )
        with self._database.read() as session:  # most looks find nothing, and take no write lock
            if session.scalar(select(HostedRepository.id).where(HostedRepository.next_sync_at <= now).limit(1)) is None:
                return 0
        with self._database.begin() as session:
            repositories = session.scalars(due).all()
            for repository in repositories:
                interval = timedelta(minutes=repository.interval_minutes)
                # Repositories that were added together do not stay together.
                spread = interval * random.uniform(0.95, 1.05)  # noqa: S311
                repository.next_sync_at = now + spread if repository.interval_minutes else None
                if repository.interval_minutes:
                    self._queue.submit(repository.id, "schedule", session=session)
        return len(repositories)

    def clean(self) -> None:
        """Delete old jobs and deliveries, and the folders of removed repositories."""
        self._queue.prune()
        with self._database.begin() as session:
            old = WebhookDelivery.received_at < self._clock() - _DELIVERIES_KEPT
            session.execute(delete(WebhookDelivery).where(old))
        self._repositories.sweep()
