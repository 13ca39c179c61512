"""Search in the audit record, page by page."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, or_, select

from coderag.server.audit.entries import AuditOutcome
from coderag.server.storage.database import Database
from coderag.server.storage.models import AuditEntry

MAX_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Filter of entries; an empty field filters nothing.

    Attributes:
        actor: Id or name of an account.
        action: Action.
        repository_id: Id of a repository.
        outcome: Outcome.
        since: Earliest time.
        until: Time before which they are.
    """

    actor: str = ""
    action: str = ""
    repository_id: str = ""
    outcome: AuditOutcome | None = None
    since: datetime | None = None
    until: datetime | None = None


def list_newest(
    database: Database, criteria: AuditFilter, *, before: int | None = None, limit: int = 100
) -> list[AuditEntry]:
    """List entries, the newest first.

    Args:
        database: The database.
        criteria: Filter.
        before: Number below which they are, the last one of the page before.
        limit: Maximum number of entries, up to `MAX_PAGE`.

    Raises:
        DatabaseUnavailableError: The database does not answer.
    """
    conditions = _build_conditions(criteria)
    if before is not None:
        conditions.append(AuditEntry.sequence < before)
    query = select(AuditEntry).where(*conditions).order_by(AuditEntry.sequence.desc())
    with database.read() as session:
        return list(session.scalars(query.limit(max(1, min(limit, MAX_PAGE)))))


def iterate_entries(database: Database, criteria: AuditFilter) -> Iterator[AuditEntry]:
    """Yield entries, the oldest first. Between pages, a slow reader holds no transaction.

    Raises:
        DatabaseUnavailableError: The database does not answer.
    """
    conditions, last = _build_conditions(criteria), 0
    while True:
        query = select(AuditEntry).where(*conditions, AuditEntry.sequence > last).order_by(AuditEntry.sequence)
        with database.read() as session:
            page = list(session.scalars(query.limit(MAX_PAGE)))
        if not page:
            return
        yield from page
        last = page[-1].sequence


def _build_conditions(criteria: AuditFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if criteria.actor:
        conditions.append(or_(AuditEntry.actor_id == criteria.actor, AuditEntry.actor == criteria.actor))
    if criteria.action:
        conditions.append(AuditEntry.action == criteria.action)
    if criteria.repository_id:
        conditions.append(AuditEntry.repository_id == criteria.repository_id)
    if criteria.outcome is not None:
        conditions.append(AuditEntry.outcome == criteria.outcome)
    if criteria.since is not None:
        conditions.append(AuditEntry.time >= criteria.since)
    if criteria.until is not None:
        conditions.append(AuditEntry.time < criteria.until)
    return conditions
