"""The chain of entries in the database: one writer at a time, over all processes."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import func, insert, select, text
from sqlalchemy.orm import Session

from coderag.server.audit.entries import EMPTY_CHAIN, AuditDraft, ChainEnd, append_draft
from coderag.server.storage.models import AuditEntry

_LOCK_ID: Final = 0x436F_6465_5241_4741
"""Number of the advisory lock of PostgreSQL; any other that no program uses would do."""

_LOCK_TIMEOUT_MS: Final = 10_000


def lock_chain(session: Session) -> None:
    """Wait until no other transaction appends; SQLite has one writer at a time anyway.

    The lock is held until the end of the transaction, so it is the last one that a transaction takes.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT_MS}"))
        session.execute(select(func.pg_advisory_xact_lock(_LOCK_ID)))


def read_end(session: Session) -> ChainEnd:
    """Return the newest entry; `EMPTY_CHAIN` if there is none."""
    query = select(AuditEntry.sequence, AuditEntry.mac).order_by(AuditEntry.sequence.desc()).limit(1)
    row = session.execute(query).first()
    return EMPTY_CHAIN if row is None else ChainEnd(*row)


def contains_end(session: Session, end: ChainEnd) -> bool:
    """Return whether an entry has the number and the MAC."""
    if end.sequence == EMPTY_CHAIN.sequence:
        return end == EMPTY_CHAIN
    return session.scalar(select(AuditEntry.mac).where(AuditEntry.sequence == end.sequence)) == end.mac


def append_drafts(session: Session, key: bytes, end: ChainEnd, drafts: Sequence[AuditDraft]) -> ChainEnd:
    """Append entries behind the end of the locked chain and return the new end."""
    rows = []
    for draft in drafts:
        row = append_draft(key, end, draft)
        end = ChainEnd(row["sequence"], row["mac"])
        rows.append(row)
    session.execute(insert(AuditEntry), rows)
    return end
