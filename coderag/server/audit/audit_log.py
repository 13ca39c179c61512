"""The audit record: append-only, in a chain of MACs, with a counter outside of the database."""

import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from sqlalchemy import event
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, SessionTransaction

from coderag.errors import DatabaseUnavailableError, ServerError
from coderag.server.access.principal import Principal
from coderag.server.audit.chain import append_drafts, contains_end, lock_chain, read_end
from coderag.server.audit.counter import AuditCounter, DamagedCounterError
from coderag.server.audit.entries import (
    EMPTY_CHAIN,
    PRUNE_ACTION,
    RESERVED_ACTIONS,
    RESET_ACTION,
    AuditDraft,
    AuditOutcome,
    ChainEnd,
    make_draft,
)
from coderag.server.audit.group_commit import GroupCommit
from coderag.server.audit.retention import prune_step
from coderag.server.audit.search import AuditFilter, iterate_entries, list_newest
from coderag.server.audit.verification import AuditReport, verify_record
from coderag.server.sealing import MasterKey
from coderag.server.settings import AuditSettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import AuditEntry

COUNTER_FILE_NAME: Final = "audit.counter"
_PENDING: Final = "coderag.audit.pending"
"""Key of what a session's transaction will append when it is committed."""

_WARNING_INTERVAL_S: Final = 60.0
_HASH_CHARS: Final = 32

_log = logging.getLogger(__name__)


class AuditObserver(Protocol):
    """Receiver of what the audit record does, for metrics."""

    def count_audit_entries(self, number: int) -> None:
        """Count appended entries."""
        ...

    def count_audit_failure(self) -> None:
        """Count a write that failed, so that its requests were refused."""
        ...


class _Commit(NamedTuple):
    """Outcome of appending in a transaction: the new end, and whether the counter fits and may follow."""

    end: ChainEnd
    may_count: bool
    number: int


class AuditLog:
    """The audit record. Shared by threads and processes.

    An entry is durable when `record` returns, or `record` raises: then the request has to be refused.

    Args:
        database: The database.
        master_key: Key outside of the database; the chain, the counter and the hashes have keys derived from it.
        settings: Settings of the record.
        counter_file: File of the counter, on storage that all processes share.
        clock: Returns the current time.
        observer: Receiver of what is done, for metrics.
    """

    def __init__(
        self,
        database: Database,
        master_key: MasterKey,
        settings: AuditSettings,
        counter_file: Path,
        *,
        clock: Callable[[], datetime] = get_time,
        observer: AuditObserver | None = None,
    ) -> None:
        self.counter = AuditCounter(counter_file, master_key.derive("audit-counter"))
        self._database = database
        self._key = master_key.derive("audit")
        self._question_key = master_key.derive("audit-questions")
        self._settings = settings
        self._clock = clock
        self._observer = observer
        self._group = GroupCommit(self._write)
        self._warned_at = -_WARNING_INTERVAL_S

    def record(
        self,
        principal: Principal | None,
        action: str,
        *,
        repository_id: str = "",
        outcome: AuditOutcome = "allowed",
        detail: Mapping[str, str] | None = None,
        session: Session | None = None,
    ) -> None:
        """Append an entry.

        Args:
            principal: Who acts; None for nobody that is known.
            action: What is done.
            repository_id: Repository that it is about.
            outcome: Its outcome.
            detail: Further values; no secrets.
            session: Transaction of `Database.begin` to which the entry belongs. It is written when that is committed,
                and not at all when that is rolled back.

        Raises:
            DatabaseUnavailableError: It cannot be written: the database is away, or a disk is full.
        """
        if action in RESERVED_ACTIONS:
            raise ValueError(f"{action} is recorded by the audit itself")
        draft = self._make_draft(principal, action, repository_id=repository_id, outcome=outcome, detail=detail)
        if session is None:
            self._group.submit(draft)
        else:
            self._enqueue(session, draft)

    def hash_question(self, text: str) -> str:
        """Return a question in the form that the policy keeps: as a keyed hash, as text, or empty.

        Equal questions have equal hashes. Without the key, nobody can compute the hash of a guessed question.
        """
        if self._settings.questions == "none" or not text.strip():
            return ""
        if self._settings.questions == "text":
            return text.strip()
        digest = hmac.digest(self._question_key, text.strip().encode("utf-8", "replace"), hashlib.sha256)
        return f"hmac:{digest.hex()[:_HASH_CHARS]}"

    def verify(self) -> AuditReport:
        """Verify the whole record and its counter.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        return verify_record(self._database, self._key, self.counter)

    def search(self, criteria: AuditFilter, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """List entries, the newest first; `before` is the last number of the page before. Raises as `verify`."""
        return list_newest(self._database, criteria, before=before, limit=limit)

    def export(self, since: datetime | None = None, until: datetime | None = None) -> Iterator[AuditEntry]:
        """Yield the entries of a time, the oldest first; `format_entry` makes lines of them. Raises as `verify`."""
        return iterate_entries(self._database, AuditFilter(since=since, until=until))

    def prune(self, caller: Principal | None) -> int:
        """Delete the entries that are older than the settings keep, and return their number.

        They are verified before, and an entry of the action ``audit.prune`` stands for them.

        Raises:
            ServerError: The record or its counter is broken: what would show that is not deleted.
            DatabaseUnavailableError: The database does not answer.
        """
        if not self._settings.retention_days:
            return 0
        cutoff = self._clock() - timedelta(days=self._settings.retention_days)
        total = 0
        while deleted := self._prune_step(caller, cutoff):
            total += deleted
        return total

    def reset_counter(self, caller: Principal | None) -> None:
        """Accept the record as it is, such as after a backup was restored, and record that with the old counter.

        Raises:
            DatabaseUnavailableError: The database or the counter does not answer.
        """
        with self._database.begin() as session:
            lock_chain(session)
            try:
                counted = self.counter.read()
                known = {"counter": "missing"} if counted is None else {"counter": str(counted.sequence)}
            except DamagedCounterError:
                known = {"counter": "damaged"}
            end = read_end(session)
            draft = self._make_draft(caller, RESET_ACTION, detail=known | {"entries": str(end.sequence)})
            end = append_drafts(session, self._key, end, [draft])
        self.counter.reset(end)

    def read_position(self) -> int:
        """Return the number of the newest entry. Raises as `verify`."""
        with self._database.read() as session:
            return read_end(session).sequence

    def _make_draft(
        self,
        principal: Principal | None,
        action: str,
        *,
        repository_id: str = "",
        outcome: AuditOutcome = "allowed",
        detail: Mapping[str, str] | None = None,
    ) -> AuditDraft:
        return make_draft(self._clock(), principal, action, repository_id=repository_id, outcome=outcome, detail=detail)

    def _write(self, drafts: Sequence[AuditDraft]) -> None:
        """Write a batch in a transaction of its own."""
        with self._count_failures():
            with self._database.begin() as session:
                commit = self._append(session, drafts)
            self._finish(commit)

    def _enqueue(self, session: Session, draft: AuditDraft) -> None:
        if session.get_bind() is not self._database.engine:
            raise ValueError("an entry needs a session that writes to the same database")
        if _PENDING not in session.info:
            session.info[_PENDING] = []
            event.listen(session, "before_commit", self._append_pending)
            event.listen(session, "after_soft_rollback", _drop_pending)
        session.info[_PENDING].append(draft)

    def _append_pending(self, session: Session) -> None:
        """Append what a transaction recorded, as the last thing that it does: others wait only for its commit."""
        if session.in_nested_transaction() or not session.info[_PENDING]:
            return
        drafts, session.info[_PENDING] = session.info[_PENDING], []
        with self._count_failures():
            session.flush()
            commit = self._append(session, drafts)
        event.listen(session, "after_commit", partial(self._finish_session, commit), once=True)

    def _finish_session(self, commit: _Commit, session: Session) -> None:
        del session
        try:
            self._finish(commit)
        except DatabaseUnavailableError:
            # The transaction is committed, and its caller must not believe otherwise. The next entry needs the counter.
            _log.exception("the counter of the audit record lags behind")

    def _append(self, session: Session, drafts: Sequence[AuditDraft]) -> _Commit:
        lock_chain(session)
        end = read_end(session)
        may_count = self._check_counter(session, end)
        return _Commit(append_drafts(session, self._key, end, drafts), may_count, len(drafts))

    def _check_counter(self, session: Session, end: ChainEnd) -> bool:
        """Return whether the counter fits the locked chain; one that does not is left as evidence."""
        try:
            counted = self.counter.read()
        except DamagedCounterError as error:
            return self._warn(str(error))
        if counted is None and end == EMPTY_CHAIN:
            self.counter.create()  # before the first commit, so that a crash after it leaves no record without a counter
            return True
        if counted is None:
            return self._warn(f"{self.counter.path}: the counter of the audit record is missing")
        if counted == end or contains_end(session, counted):
            return True
        return self._warn(f"the audit record does not have the entry {counted.sequence} that its counter has")

    def _finish(self, commit: _Commit) -> None:
        if commit.may_count:
            self.counter.advance(commit.end)
        if self._observer is not None:
            self._observer.count_audit_entries(commit.number)

    def _warn(self, message: str) -> bool:
        if time.monotonic() - self._warned_at >= _WARNING_INTERVAL_S:
            self._warned_at = time.monotonic()
            _log.error("%s. Run `coderag server audit verify`", message)
        return False

    def _prune_step(self, caller: Principal | None, cutoff: datetime) -> int:
        with self._database.begin() as session:
            lock_chain(session)
            end = read_end(session)
            if not self._check_counter(session, end):
                hint = "Run `coderag server audit verify`."
                raise ServerError("nothing is deleted: the audit record does not fit its counter", hint=hint)
            self.counter.advance(end)  # it must name an entry that stays
            make = partial(self._make_prune_draft, caller)
            deleted, draft = prune_step(session, self._key, end, cutoff, make)
            end = append_drafts(session, self._key, end, [draft]) if draft is not None else end
        self.counter.advance(end)
        return deleted

    def _make_prune_draft(self, caller: Principal | None, detail: Mapping[str, str]) -> AuditDraft:
        return self._make_draft(caller, PRUNE_ACTION, detail=detail)

    @contextmanager
    def _count_failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self._observer is not None:
                self._observer.count_audit_failure()
            if isinstance(error, IntegrityError):
                message = "the audit record was changed while an entry was appended"
                raise DatabaseUnavailableError(message, hint="Try again in a moment.") from error
            raise


def _drop_pending(session: Session, transaction: SessionTransaction) -> None:
    if not transaction.nested:  # a savepoint leaves what the transaction recorded before
        session.info[_PENDING] = []
