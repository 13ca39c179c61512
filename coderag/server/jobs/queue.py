"""Queue of jobs in the database: each fetches and indexes one repository. A job lives through the death of any process."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Literal

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from coderag.errors import InvalidValueError, UnknownNameError
from coderag.server.jobs.claims import find_expired, is_claimable, select_next
from coderag.server.repositories.names import is_id
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, Job

JobReason = Literal["add", "push", "schedule", "manual"]
"""Cause of a job."""

ACTIVE_STATES: Final = ("queued", "running")
ENDED_STATES: Final = ("done", "failed", "cancelled")

LEASE_S: Final = 60.0
MAX_ATTEMPTS: Final = 5
MAX_LISTED: Final = 200
_MIN_DELAY_S: Final = 30.0
_MAX_DELAY_S: Final = 1_800.0
_MAX_ERROR_CHARS: Final = 2_000
_KEPT: Final = timedelta(days=30)


class JobQueue:
    """Queue of jobs. Thread-safe, and shared by all processes with the same database.

    A repository has at most one queued and one running job. A running job belongs to a worker by a lease; a worker that
    does not renew it has died, and the job is queued again.

    Args:
        database: The database.
        clock: Returns the current time; the clocks of all processes must agree within seconds.
        lease_s: Seconds of a lease.
        max_attempts: Attempts until a job fails for good.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], datetime] = get_time,
        *,
        lease_s: float = LEASE_S,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        self._database = database
        self._clock = clock
        self.lease_s = lease_s
        self._max_attempts = max_attempts

    def submit(self, repository_id: str, reason: JobReason, *, session: Session | None = None) -> Job:
        """Queue a job, or join the one that is queued already.

        Args:
            repository_id: Id of the repository.
            reason: Cause; `manual` also ends the pause after a failure.
            session: Transaction of the caller.

        Raises:
            UnknownNameError: There is no such repository.
        """
        if session is None:
            with self._database.begin() as own_session:
                return self.submit(repository_id, reason, session=own_session)
        repository = _lock_repository(session, repository_id) if is_id(repository_id) else None
        if repository is None:
            raise UnknownNameError("there is no such repository", hint="List the repositories.")
        job = _find_queued(session, repository_id)
        if job is None:
            job = Job(repository_id=repository_id, team_id=repository.team_id, reason=reason, created_at=self._clock())
            session.add(job)
            session.flush()
        elif reason == "manual":
            job.not_before, job.attempts = None, 0
        return job

    def claim(self, worker: str) -> Job | None:
        """Take the next job: of the team with the fewest running ones, then of the one that waited longest for a turn.

        Args:
            worker: Name of the worker, unique among all.
        """
        now = self._clock()
        with self._database.read() as session:  # an idle worker takes no write lock
            if not is_claimable(session, now):
                return None
        self._recover(now)
        with self._database.begin() as session:
            job = session.scalars(select_next(now)).first()
            if job is None:
                return None
            job.state, job.worker, job.attempts = "running", worker, job.attempts + 1
            job.started_at, job.leased_until, job.not_before = now, now + timedelta(seconds=self.lease_s), None
            job.progress = {}
            return job

    def renew(self, job_id: str, worker: str, progress: Mapping[str, Any] | None = None) -> bool:
        """Extend the lease of a running job; return whether the worker still holds it.

        Args:
            job_id: Id of the job.
            worker: Name of the worker.
            progress: New progress; None keeps the last.
        """
        with self._database.begin() as session:
            job = _find_held(session, job_id, worker)
            if job is None:
                return False
            job.leased_until = self._clock() + timedelta(seconds=self.lease_s)
            if progress is not None:
                job.progress = dict(progress)
            return True

    def finish(
        self, job_id: str, worker: str, commit: str, source_errors: Mapping[str, str] = MappingProxyType({})
    ) -> bool:
        """End a job that succeeded, and note the commit with its repository; return whether the worker held it.

        Args:
            job_id: Id of the job.
            worker: Name of the worker.
            commit: Commit that was indexed.
            source_errors: By its name why each source was not synchronised completely.
        """
        with self._database.begin() as session:
            job, repository = _lock_held(session, job_id, worker)
            if job is None or repository is None:
                return False
            now = self._clock()
            job.state, job.commit, job.error, job.ended_at, job.leased_until = "done", commit, "", now, None
            job.source_errors = {name: error[:_MAX_ERROR_CHARS] for name, error in source_errors.items()}
            repository.commit, repository.indexed_at = commit, now
            return True

    def fail(self, job_id: str, worker: str, error: str, *, is_permanent: bool = False) -> bool:
        """Note a failure; the job is queued again after a pause unless it is permanent or failed too often.

        Args:
            job_id: Id of the job.
            worker: Name of the worker.
            error: Description without secrets.
            is_permanent: Whether another attempt would fail, too.

        Returns:
            Whether the worker held the job.
        """
        with self._database.begin() as session:
            job, _ = _lock_held(session, job_id, worker)
            if job is None:
                return False
            self._fail(session, job, error, is_permanent=is_permanent)
            return True

    def release(self, job_id: str, worker: str, *, delay_s: float = 0.0) -> bool:
        """Queue a running job again without counting the attempt; return whether the worker held it."""
        with self._database.begin() as session:
            job, _ = _lock_held(session, job_id, worker)
            if job is None:
                return False
            job.attempts -= 1
            not_before = self._clock() + timedelta(seconds=delay_s) if delay_s else None
            self._queue_again(session, job, not_before)
            return True

    def cancel(self, job_id: str) -> Job:
        """Cancel a job; a worker that runs it notices within seconds.

        Raises:
            UnknownNameError: There is no such job.
            InvalidValueError: It has ended.
        """
        with self._database.begin() as session:
            job = session.get(Job, job_id, with_for_update=True) if is_id(job_id) else None
            if job is None:
                raise _build_unknown_job()
            if job.state in ENDED_STATES:
                raise InvalidValueError(f"the job has ended: it is {job.state}", hint="Start another one.")
            job.state, job.ended_at, job.leased_until = "cancelled", self._clock(), None
            return job

    def get(self, job_id: str) -> Job:
        """Return a job.

        Raises:
            UnknownNameError: There is no such job.
        """
        job = None
        if is_id(job_id):
            with self._database.read() as session:
                job = session.get(Job, job_id)
        if job is None:
            raise _build_unknown_job()
        return job

    def list(
        self,
        repository_ids: Collection[str] | None,
        *,
        states: Collection[str] = (),
        before: datetime | None = None,
        limit: int = MAX_LISTED,
    ) -> list[Job]:
        """List jobs, newest first.

        Args:
            repository_ids: Ids of their repositories; None for all.
            states: Their states; empty for all.
            before: Only those that were created before this time.
            limit: Maximum number.
        """
        query = select(Job).order_by(Job.created_at.desc(), Job.id).limit(min(limit, MAX_LISTED))
        if repository_ids is not None:
            query = query.where(Job.repository_id.in_(repository_ids))
        if states:
            query = query.where(Job.state.in_(states))
        if before is not None:
            query = query.where(Job.created_at < before)
        with self._database.read() as session:
            return [*session.scalars(query)]

    def count(self) -> dict[str, int]:
        """Count the queued and running jobs."""
        query = select(Job.state, func.count()).where(Job.state.in_(ACTIVE_STATES)).group_by(Job.state)
        with self._database.read() as session:
            counts = {state: number for state, number in session.execute(query)}  # noqa: C416  # rows are no tuples
        return {state: counts.get(state, 0) for state in ACTIVE_STATES}

    def prune(self) -> int:
        """Delete jobs that ended more than 30 days ago; return their number."""
        old = delete(Job).where(Job.state.in_(ENDED_STATES), Job.ended_at < self._clock() - _KEPT)
        with self._database.begin() as session:
            return len(session.scalars(old.returning(Job.id)).all())

    def _recover(self, now: datetime) -> None:
        """Queue the jobs of workers that died again."""
        with self._database.read() as session:
            expired: Sequence[tuple[str, str]] = find_expired(session, now)
        for job_id, worker in expired:
            with self._database.begin() as session:
                job, _ = _lock_held(session, job_id, worker)
                if job is not None and job.leased_until is not None and job.leased_until < now:
                    self._fail(session, job, "the worker that ran the job has died", pause=False)

    def _fail(self, session: Session, job: Job, error: str, *, is_permanent: bool = False, pause: bool = True) -> None:
        job.error = error[:_MAX_ERROR_CHARS]
        if is_permanent or job.attempts >= self._max_attempts:
            job.state, job.ended_at, job.leased_until = "failed", self._clock(), None
            return
        delay_s = min(_MIN_DELAY_S * 2 ** (job.attempts - 1), _MAX_DELAY_S) * random.uniform(0.8, 1.2)  # noqa: S311
        self._queue_again(session, job, self._clock() + timedelta(seconds=delay_s) if pause else None)

    def _queue_again(self, session: Session, job: Job, not_before: datetime | None) -> None:
        if _find_queued(session, job.repository_id) is not None:  # that one does the same, and more
            job.state, job.ended_at, job.leased_until = "failed", self._clock(), None
            job.error = job.error or "a newer job takes its place"
            return
        job.state, job.worker, job.leased_until, job.not_before = "queued", "", None, not_before


def _lock_repository(session: Session, repository_id: str) -> HostedRepository | None:
    # Whoever changes the jobs of a repository holds its row, so that it never gets two queued jobs.
    return session.get(HostedRepository, repository_id, with_for_update=True)


def _find_queued(session: Session, repository_id: str) -> Job | None:
    query = select(Job).where(Job.repository_id == repository_id, Job.state == "queued").limit(1)
    return session.scalars(query).first()


def _find_held(session: Session, job_id: str, worker: str) -> Job | None:
    job = session.get(Job, job_id, with_for_update=True, populate_existing=True)
    return job if job is not None and job.state == "running" and job.worker == worker else None


def _lock_held(session: Session, job_id: str, worker: str) -> tuple[Job | None, HostedRepository | None]:
    """Lock the repository of a job, then the job; None for a job that the worker does not hold."""
    repository_id = session.scalar(select(Job.repository_id).where(Job.id == job_id))
    repository = _lock_repository(session, repository_id) if repository_id is not None else None
    return (_find_held(session, job_id, worker), repository) if repository is not None else (None, None)


def _build_unknown_job() -> UnknownNameError:
    return UnknownNameError("there is no such job", hint="List the jobs.")
