"""Slowing of guesses: after failed sign-ins, the next ones from an address or for a key have to wait."""

import ipaddress
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import case, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from coderag.errors import AuthenticationError, QuotaExceededError
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import SignInFailures

FREE_FAILURES: Final = 10
"""Failures after which the next attempt has to wait."""

MAX_DELAY_S: Final = 900.0
"""Maximum wait; a subject without a failure for as long starts anew."""

MAX_SUBJECTS: Final = 10_000
"""Maximum rows of the table; the oldest are deleted."""

_MAX_TRUSTED: Final = 10_000
_SUBJECT_CHARS: Final = 200
_IPV6_PREFIX: Final = 64


@dataclass(slots=True)
class _Failures:
    count: int = 0
    failed_at: datetime | None = None


class SignInThrottle:
    """Counter of failed sign-ins. Shared by threads; its table also by processes.

    Failures count for the address and for the key that was tried. An address that has used a key before has a count of its
    own for it, so that nobody locks out others by guessing at their key or from their address.

    Args:
        database: Database of the server.
        clock: Returns the current time.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = get_time) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._trusted: dict[tuple[str, str], _Failures] = {}  # least recently used first

    @contextmanager
    def guard(self, address: str, prefix: str = "") -> Iterator[None]:
        """Refuse an attempt that comes too early, and count one that fails with `AuthenticationError`.

        Args:
            address: Network address of the client.
            prefix: Prefix of the key that is tried; empty if it is none.

        Raises:
            QuotaExceededError: The attempt comes too early.
            DatabaseUnavailableError: The database does not answer.
        """
        pair = to_network(address), prefix
        with self._lock:
            trusted = self._trusted.get(pair) if prefix else None
        if trusted is not None:
            _check_delay(trusted.count, trusted.failed_at, self._clock())
        else:
            self._check(*pair)
        try:
            yield
        except AuthenticationError:
            if trusted is None:
                self._record(*pair)
            else:
                self._count_trusted(trusted)
            raise
        if prefix:
            self._trust(pair)

    def _check(self, network: str, prefix: str) -> None:
        subjects = _list_subjects(network, prefix)
        now = self._clock()
        with self._database.read() as session:
            for row in session.scalars(select(SignInFailures).where(SignInFailures.subject.in_(subjects))):
                _check_delay(row.count, row.failed_at, now)

    def _record(self, network: str, prefix: str) -> None:
        now = self._clock()
        insert = sqlite.insert if self._database.is_sqlite else postgresql.insert
        has_rested = SignInFailures.failed_at < now - timedelta(seconds=MAX_DELAY_S)
        count = case((has_rested, 1), else_=SignInFailures.count + 1)
        with self._database.begin() as session:
            for subject in _list_subjects(network, prefix):
                row = insert(SignInFailures).values(subject=subject, count=1, failed_at=now)
                session.execute(
                    row.on_conflict_do_update(
                        index_elements=[SignInFailures.subject], set_={"count": count, "failed_at": now}
                    )
                )
            _delete_oldest(session, now)

    def _count_trusted(self, failures: _Failures) -> None:
        now = self._clock()
        with self._lock:
            has_rested = failures.failed_at is None or now - failures.failed_at > timedelta(seconds=MAX_DELAY_S)
            failures.count = 1 if has_rested else failures.count + 1
            failures.failed_at = now

    def _trust(self, pair: tuple[str, str]) -> None:
        with self._lock:
            self._trusted.pop(pair, None)
            self._trusted[pair] = _Failures()
            if len(self._trusted) > _MAX_TRUSTED:
                del self._trusted[next(iter(self._trusted))]


def compute_delay(count: int) -> float:
    """Return the seconds to wait after a number of failures: none at first, then twice as long after each."""
    return 0.0 if count < FREE_FAILURES else min(MAX_DELAY_S, 2.0 ** min(count - FREE_FAILURES, 30))


def _check_delay(count: int, failed_at: datetime | None, now: datetime) -> None:
    if failed_at is None:
        return
    wait_s = compute_delay(count) - (now - failed_at).total_seconds()
    if wait_s > 0:
        message = "too many sign-ins have failed"
        raise QuotaExceededError(message, hint=f"Try again in {wait_s:,.0f} s.", wait_s=wait_s)


def _list_subjects(network: str, prefix: str) -> Sequence[str]:
    subjects = [f"address {network}"[:_SUBJECT_CHARS]]
    return [*subjects, f"key {prefix}"] if prefix else subjects


def to_network(address: str) -> str:
    """Return an address; of IPv6 its network, as a client has all addresses of one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((int(parsed), _IPV6_PREFIX), strict=False).network_address)
    return str(parsed)


def _delete_oldest(session: Session, now: datetime) -> None:
    """Delete rows that have rested, and the oldest beyond the limit."""
    session.execute(delete(SignInFailures).where(SignInFailures.failed_at < now - timedelta(seconds=MAX_DELAY_S)))
    surplus = (session.scalar(select(func.count()).select_from(SignInFailures)) or 0) - MAX_SUBJECTS
    if surplus > 0:
        oldest = select(SignInFailures.subject).order_by(SignInFailures.failed_at).limit(surplus)
        session.execute(delete(SignInFailures).where(SignInFailures.subject.in_(oldest)))
