"""Requests of today, and their limits."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from coderag.server.access.principal import Principal
from coderag.server.settings import LimitSettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import DailyUsage, Team


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """Use of a daily quota.

    Attributes:
        name: Description of the quota.
        used: Requests since midnight UTC.
        limit: Maximum number of requests; 0 is no limit.
    """

    name: str
    used: int
    limit: int


def read_usage(database: Database, limits: LimitSettings, actor: Principal, teams: Sequence[Team]) -> list[QuotaUsage]:
    """Return the quotas of an account and of its teams."""
    subjects = {f"user:{actor.user_id}": ("requests today", limits.requests_per_day)}
    for team in teams:
        subjects[f"team:{team.id}"] = (f"requests of {team.name} today", limits.team_requests_per_day)
    counts = select(DailyUsage).where(DailyUsage.day == get_time().date(), DailyUsage.subject.in_(subjects))
    with database.read() as session:
        used = {usage.subject: usage.requests for usage in session.scalars(counts)}
    return [QuotaUsage(name, used.get(subject, 0), limit) for subject, (name, limit) in subjects.items()]
