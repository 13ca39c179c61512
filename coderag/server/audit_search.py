"""Search of the audit record, newest entries first."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select

from coderag.server.paging import DEFAULT_PAGE_ITEMS
from coderag.server.storage.database import Database
from coderag.server.storage.models import AuditEntry


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """Filters of the audit record; empty ones match all.

    Attributes:
        actor: Id or name of an account.
        action: Action, such as `users.manage`.
        repository_id: Id of a repository.
        since: Only entries of this time or later.
        until: Only entries before this time.
    """

    actor: str = ""
    action: str = ""
    repository_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


def search_entries(
    database: Database, filters: AuditFilters, *, before: int | None = None, limit: int = DEFAULT_PAGE_ITEMS
) -> list[AuditEntry]:
    """Return the newest entries before a sequence number.

    Args:
        database: Database of the server.
        filters: Filters.
        before: Only entries with lower sequence numbers; None for the newest.
        limit: Maximum number of entries.
    """
    statement = select(AuditEntry).order_by(AuditEntry.sequence.desc()).limit(limit)
    if before is not None:
        statement = statement.where(AuditEntry.sequence < before)
    if filters.actor:
        statement = statement.where(or_(AuditEntry.actor_id == filters.actor, AuditEntry.actor == filters.actor))
    if filters.action:
        statement = statement.where(AuditEntry.action == filters.action)
    if filters.repository_id:
        statement = statement.where(AuditEntry.repository_id == filters.repository_id)
    if filters.since is not None:
        statement = statement.where(AuditEntry.time >= filters.since)
    if filters.until is not None:
        statement = statement.where(AuditEntry.time < filters.until)
    with database.read() as session:
        return list(session.scalars(statement))
