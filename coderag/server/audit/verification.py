"""Verification of the audit record: every entry against the one before it, its beginning and its end."""

import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from coderag.server.audit.counter import AuditCounter, DamagedCounterError
from coderag.server.audit.entries import (
    COLUMNS,
    EMPTY_CHAIN,
    PRUNE_ACTION,
    RESET_ACTION,
    ChainEnd,
    compute_mac,
    parse_detail,
)
from coderag.server.storage.database import Database
from coderag.server.storage.models import AuditEntry

_PAGE: Final = 1_000
_UNREADABLE: Final = (ValueError, TypeError, OverflowError, DBAPIError)
"""Errors of values that no entry has, and that only SQLite stores; see `_raise_outage` for the last."""

_DAMAGE_WORDS: Final = ("decode", "malformed", "not a database")

_SEQUENCE, _ACTION, _DETAIL, _MAC = 0, 6, 9, 10


@dataclass(slots=True)
class AuditReport:
    """Result of a verification.

    Attributes:
        entries: Entries that were checked.
        first_sequence: Number of the first one; 0 without any.
        last_sequence: Number of the last one that is intact.
        last_mac: Its MAC; with the number, it proves this record when it is noted elsewhere.
        counter_sequence: Number in the counter file; None if it has none.
        resets: Entries that record a counter that was set anew.
        broken_sequence: First number at which the record is not what was written; None if it is intact.
        reason: Description of the fault; empty if it is intact.
    """

    entries: int = 0
    first_sequence: int = 0
    last_sequence: int = 0
    last_mac: str = EMPTY_CHAIN.mac
    counter_sequence: int | None = None
    resets: int = 0
    broken_sequence: int | None = None
    reason: str = ""

    @property
    def is_intact(self) -> bool:
        """Return whether nothing was changed, inserted, moved or deleted."""
        return self.broken_sequence is None


class BrokenChainError(Exception):
    """An entry that does not follow the one before it.

    Args:
        sequence: Its number.
        reason: Description of the fault.
    """

    def __init__(self, sequence: int, reason: str) -> None:
        super().__init__(reason)
        self.sequence = sequence
        self.reason = reason


def verify_record(database: Database, key: bytes, counter: AuditCounter) -> AuditReport:
    """Verify the whole record in one view of the database, page by page.

    Raises:
        DatabaseUnavailableError: The database does not answer.
    """
    report = AuditReport()
    counted, counter_fault = _read_counter(counter)  # first, as what is counted later was not committed before
    if counted is not None:
        report.counter_sequence = counted.sequence
    with database.read() as session:
        if not database.is_sqlite:
            session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        counted_mac = ""
        try:
            for end, action in walk_chain(session, key):
                report.entries += 1
                report.first_sequence = report.first_sequence or end.sequence
                report.last_sequence, report.last_mac = end
                report.resets += action == RESET_ACTION
                if counted is not None and end.sequence == counted.sequence:
                    counted_mac = end.mac
        except BrokenChainError as error:
            report.broken_sequence, report.reason = error.sequence, error.reason
            return report
    fault = _check_end(report, counted, counted_mac, counter_fault)
    if fault is not None:
        report.broken_sequence, report.reason = fault.sequence, fault.reason
    return report


def walk_chain(session: Session, key: bytes, *, limit: int | None = None) -> Iterator[tuple[ChainEnd, str]]:
    """Yield number, MAC and action of each intact entry, from the first one.

    Args:
        session: Session that reads.
        key: Key of the chain.
        limit: Maximum number of entries; None is all.

    Raises:
        BrokenChainError: An entry is not what was written there.
    """
    start = previous = _find_start(session)
    for n_rows, row in enumerate(_read_rows(session)):
        if limit is not None and n_rows == limit:
            return
        sequence, action = row[_SEQUENCE], row[_ACTION]
        if sequence <= start.sequence:
            raise BrokenChainError(sequence, "the entry was inserted, or is back after its deletion by retention")
        if sequence != previous.sequence + 1:
            missing = previous.sequence + 1
            raise BrokenChainError(missing, f"the entries {missing} to {sequence - 1} are missing")
        if not _is_intact(key, previous.mac, row):
            raise BrokenChainError(sequence, f"the entry {sequence} was changed, moved or inserted")
        if (
            action == PRUNE_ACTION
            and (pruned := _parse_pruned(row[_DETAIL])) is not None
            and pruned.sequence > start.sequence
        ):
            raise BrokenChainError(start.sequence + 1, "deleted entries are back: later retention covers them")
        previous = ChainEnd(sequence, row[_MAC])
        yield previous, action


def _find_start(session: Session) -> ChainEnd:
    """Return what the first entry follows: nothing, or the last one that retention deleted.

    The entry that says so is not verified yet; it is when the walk reaches it.
    """
    first = session.scalar(select(AuditEntry.sequence).order_by(AuditEntry.sequence).limit(1))
    query = select(AuditEntry.detail).where(AuditEntry.action == PRUNE_ACTION).order_by(AuditEntry.sequence.desc())
    try:
        parsed = (_parse_pruned(detail) for detail in session.scalars(query))
        ends = [end for end in parsed if end is not None]
    except _UNREADABLE as error:
        _raise_outage(error)
        return EMPTY_CHAIN
    fitting = [end for end in ends if first is not None and end.sequence == first - 1]
    if fitting or not ends:
        return fitting[0] if fitting else EMPTY_CHAIN
    return EMPTY_CHAIN if first == 1 else ends[0]


def _parse_pruned(detail: object) -> ChainEnd | None:
    values = parse_detail(detail) if isinstance(detail, str) else {}
    try:
        return ChainEnd(int(values["through"]), str(values["mac"]))
    except (KeyError, ValueError, TypeError):
        return None


def _read_rows(session: Session) -> Iterator[Sequence[Any]]:
    """Yield the rows in order; a page with an unreadable row is read one by one, to name that row."""
    last, page = None, _PAGE
    while True:
        query = select(*COLUMNS).order_by(AuditEntry.sequence).limit(page)
        if last is not None:
            query = query.where(AuditEntry.sequence > last)
        try:
            rows: Sequence[Sequence[Any]] = session.execute(query).all()
        except _UNREADABLE as error:
            _raise_outage(error)
            if page == 1:
                sequence = 1 if last is None else last + 1
                raise BrokenChainError(sequence, f"the entry {sequence} was changed: it cannot be read") from error
            page = 1
            continue
        if not rows:
            return
        yield from rows
        last = rows[-1][_SEQUENCE]


def _raise_outage(error: Exception) -> None:
    """Raise an error of the database again, unless it is of damaged content."""
    if isinstance(error, DBAPIError) and not any(word in str(error.orig) for word in _DAMAGE_WORDS):
        raise error


def _is_intact(key: bytes, previous: str, row: Sequence[Any]) -> bool:
    try:
        return hmac.compare_digest(compute_mac(key, previous, row[:_MAC]), row[_MAC])
    except (TypeError, ValueError):
        return False


def _read_counter(counter: AuditCounter) -> tuple[ChainEnd | None, str]:
    try:
        counted = counter.read()
    except DamagedCounterError as error:
        return None, str(error)
    return counted, "" if counted else f"{counter.path}: the counter is missing"


def _check_end(
    report: AuditReport, counted: ChainEnd | None, counted_mac: str, counter_fault: str
) -> BrokenChainError | None:
    """Compare the end of an intact chain with the counter."""
    behind = report.last_sequence + 1
    if counted is None:
        return BrokenChainError(behind, counter_fault) if report.entries or "missing" not in counter_fault else None
    if counted.sequence > report.last_sequence:
        return BrokenChainError(behind, f"the entries {behind} to {counted.sequence} were deleted from the end")
    if counted == EMPTY_CHAIN and report.first_sequence <= 1:
        return None
    if counted.sequence < report.first_sequence:
        reason = f"the counter stands at {counted.sequence}, before the first entry: it was replaced"
        return BrokenChainError(report.first_sequence, reason)
    if counted_mac != counted.mac:
        reason = (
            f"the entry {counted.sequence} is another one than the counter has: the end was deleted and written anew"
        )
        return BrokenChainError(counted.sequence, reason)
    return None
