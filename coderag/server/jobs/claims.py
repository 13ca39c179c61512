"""Queries that choose the next job, fairly between teams."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from coderag.server.storage.models import Job

_RECENT: Final = timedelta(days=1)
_MAX_EXPIRED: Final = 50


def select_next(now: datetime) -> Select[Job]:
    """Build the query for the next job, which it locks; jobs that another process locks are passed over.

    Teams with fewer running jobs come first, then teams that waited longer since a job of theirs began, then older jobs. So
    a team with a thousand queued jobs delays the first job of another one by no more than the job that is running.
    """
    running = (
        select(Job.team_id, func.count().label("jobs")).where(Job.state == "running").group_by(Job.team_id).subquery()
    )
    served = (
        select(Job.team_id, func.max(Job.started_at).label("at"))
        .where(Job.started_at > now - _RECENT)
        .group_by(Job.team_id)
        .subquery()
    )
    return (
        select(Job)
        .outerjoin(running, Job.team_id.is_not_distinct_from(running.c.team_id))
        .outerjoin(served, Job.team_id.is_not_distinct_from(served.c.team_id))
        .where(_is_ready(now))
        .order_by(func.coalesce(running.c.jobs, 0), served.c.at.is_not(None), served.c.at, Job.created_at, Job.id)
        .limit(1)
        .with_for_update(of=Job, skip_locked=True)
    )


def is_claimable(session: Session, now: datetime) -> bool:
    """Return whether a job is ready, or its lease is over."""
    return bool(session.scalar(select(exists().where(or_(_is_ready(now), _is_expired(now))))))


def find_expired(session: Session, now: datetime) -> Sequence[tuple[str, str]]:
    """Find running jobs whose lease is over; return their ids and workers."""
    query = select(Job.id, Job.worker).where(_is_expired(now)).order_by(Job.leased_until).limit(_MAX_EXPIRED)
    return [(job_id, worker) for job_id, worker in session.execute(query)]


def _is_expired(now: datetime) -> ColumnElement[bool]:
    return and_(Job.state == "running", Job.leased_until < now)


def _is_ready(now: datetime) -> ColumnElement[bool]:
    other = aliased(Job)
    is_running = exists().where(other.repository_id == Job.repository_id, other.state == "running")
    return and_(Job.state == "queued", or_(Job.not_before.is_(None), Job.not_before <= now), ~is_running)
