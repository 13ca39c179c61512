"""Retention: a beginning of the audit record is deleted, and an entry at its end stands for it."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from coderag.errors import ServerError
from coderag.server.audit.entries import AuditDraft, ChainEnd
from coderag.server.audit.verification import BrokenChainError, walk_chain
from coderag.server.storage.models import AuditEntry

_STEP: Final = 5_000
"""Entries that a transaction deletes, while requests wait."""

MakePruneDraft = Callable[[dict[str, str]], AuditDraft]


def prune_step(
    session: Session, key: bytes, end: ChainEnd, cutoff: datetime, make_draft: MakePruneDraft
) -> tuple[int, AuditDraft | None]:
    """Verify and delete the next entries before a time, in a transaction that holds the chain.

    The newest entry always stays, so that the counter has something to be compared with.

    Args:
        session: The transaction.
        key: Key of the chain.
        end: The newest entry.
        cutoff: Time before which entries are deleted.
        make_draft: Makes the entry that stands for them, from its detail.

    Returns:
        Number of deleted entries, and the draft to append; None if there is nothing to delete.

    Raises:
        ServerError: An entry to be deleted is not what was written there.
    """
    first_kept = session.scalar(select(func.min(AuditEntry.sequence)).where(AuditEntry.time >= cutoff))
    last_deleted = min((first_kept or end.sequence + 1) - 1, end.sequence - 1)
    deleted, through = 0, None
    try:
        for entry, _ in walk_chain(session, key, limit=_STEP):
            if entry.sequence > last_deleted:
                break
            deleted, through = deleted + 1, entry
    except BrokenChainError as error:
        message = f"nothing is deleted: the audit record is broken at {error.sequence}: {error.reason}"
        raise ServerError(message, hint="Run `coderag server audit verify`.") from error
    if through is None:
        return 0, None
    session.execute(delete(AuditEntry).where(AuditEntry.sequence <= through.sequence))
    detail = {"through": str(through.sequence), "mac": through.mac, "entries": str(deleted)}
    return deleted, make_draft(detail | {"before": cutoff.isoformat(timespec="seconds")})
