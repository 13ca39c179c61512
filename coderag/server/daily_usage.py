"""Requests of a day, counted in memory and written to the database in batches."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from coderag.errors import CodeRAGError
from coderag.server.storage.database import Database
from coderag.server.storage.models import DailyUsage

FLUSH_INTERVAL_S: Final = 5.0
"""Seconds between two writes: what a process counts in them is lost when it is killed."""

_MAX_SUBJECTS: Final = 50_000
_KEPT_DAYS: Final = 92
_MAX_ROWS: Final = 500

_log = logging.getLogger(__name__)


class UsageCounter:
    """Counter of the requests of each subject today, over all processes. Thread-safe.

    A process knows its own requests at once, and those of others when it writes, every `FLUSH_INTERVAL_S` seconds.

    Args:
        database: The database.
        clock: Returns the current time.
        interval_s: Seconds between two writes.
    """

    def __init__(
        self, database: Database, clock: Callable[[], datetime], *, interval_s: float = FLUSH_INTERVAL_S
    ) -> None:
        self._database = database
        self._clock = clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._day = date.min
        self._written: dict[str, int] = {}
        self._pending: dict[tuple[date, str], int] = {}
        self._in_flight: dict[tuple[date, str], int] = {}
        self._thread: threading.Thread | None = None
        self._is_ending = threading.Event()

    def read(self, subjects: Collection[str]) -> dict[str, int]:
        """Return the requests of subjects today.

        Raises:
            DatabaseUnavailableError: Subjects that are new to this process cannot be read.
        """
        with self._lock:
            today = self._turn_day()
            unknown = [subject for subject in subjects if subject not in self._written]
        if unknown:
            with self._database.read() as session:
                stored = _read_totals(session, today, unknown)
            with self._lock:
                for subject in unknown:
                    self._written.setdefault(subject, stored.get(subject, 0))
        with self._lock:
            return {subject: self._sum(today, subject) for subject in subjects}

    def add(self, subjects: Iterable[str]) -> None:
        """Count a request of each subject."""
        with self._lock:
            today = self._turn_day()
            for subject in subjects:
                self._pending[today, subject] = self._pending.get((today, subject), 0) + 1
            if self._thread is None and not self._is_ending.is_set():
                self._thread = threading.Thread(target=self._run, name="usage", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Write what was counted, and learn what other processes counted.

        Raises:
            DatabaseUnavailableError: The database does not answer; the counts are kept for the next time.
        """
        with self._flush_lock:
            with self._lock:
                counts, self._pending = self._pending, {}
                self._in_flight = counts
            if not counts:
                return
            try:
                with self._database.begin() as session:
                    totals = _add_counts(session, counts)
            except BaseException:
                with self._lock:
                    self._in_flight = {}
                    for key, count in counts.items():
                        self._pending[key] = self._pending.get(key, 0) + count
                raise
            with self._lock:
                self._in_flight = {}
                today = self._turn_day()
                self._written.update({subject: total for (day, subject), total in totals.items() if day == today})

    def close(self) -> None:
        """Write what was counted, and stop.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        self._is_ending.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        cleaned = date.min
        while not self._is_ending.wait(self._interval_s):
            try:
                self.flush()
                today = self._clock().date()
                if cleaned < today:
                    self._delete_old(today)
                    cleaned = today
            except CodeRAGError as error:
                _log.warning("counts of requests are written later: %s", type(error).__name__)
            except Exception:  # noqa: BLE001  # the thread goes on, as the next write may succeed
                _log.exception("counts of requests cannot be written")

    def _delete_old(self, today: date) -> None:
        with self._database.begin() as session:
            session.execute(delete(DailyUsage).where(DailyUsage.day < today - timedelta(days=_KEPT_DAYS)))

    def _sum(self, today: date, subject: str) -> int:
        key = (today, subject)
        return self._written.get(subject, 0) + self._in_flight.get(key, 0) + self._pending.get(key, 0)

    def _turn_day(self) -> date:
        """Return today, and forget the totals of the day before; the caller holds the lock."""
        today = self._clock().date()
        if today != self._day or len(self._written) > _MAX_SUBJECTS:
            self._day, self._written = today, {}
        return today


def _read_totals(session: Session, day: date, subjects: Collection[str]) -> dict[str, int]:
    query = select(DailyUsage.subject, DailyUsage.requests)
    query = query.where(DailyUsage.day == day, DailyUsage.subject.in_(subjects))
    return dict(session.execute(query).all())


def _add_counts(session: Session, counts: dict[tuple[date, str], int]) -> dict[tuple[date, str], int]:
    """Add counts to the stored ones and return the totals."""
    insert: Any = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    rows = [{"day": day, "subject": subject, "requests": count} for (day, subject), count in sorted(counts.items())]
    totals: dict[tuple[date, str], int] = {}
    for start in range(0, len(rows), _MAX_ROWS):  # in one order, so that two processes cannot deadlock
        statement = insert(DailyUsage).values(rows[start : start + _MAX_ROWS])
        statement = statement.on_conflict_do_update(
            index_elements=["day", "subject"], set_={"requests": DailyUsage.requests + statement.excluded.requests}
        ).returning(DailyUsage.day, DailyUsage.subject, DailyUsage.requests)
        totals |= {(day, subject): requests for day, subject, requests in session.execute(statement)}
    return totals
