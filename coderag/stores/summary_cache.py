"""Cache of the summaries that language models wrote, keyed by the code that they were shown.

Edits elsewhere, renames, branches and full rebuilds reuse them. One SQLite file beside the content cache is shared by
all working trees of a repository. Unlike that cache it is never pruned: its content was paid for. A batch is stored
in one transaction as soon as it arrives.

A *subject* is the hash of the code that was shown. A *maker* is the key of the prompt and the model's name, or
`IMPORTED_MAKER_PREFIX` and a name. Of several summaries of a subject the last one applies.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from coderag.errors import StoreError
from coderag.stores.disk import create_index_directory, map_storage_errors

FILE_NAME: Final = "summaries-v1.sqlite"
"""The number is the format version; files of other versions are left alone."""

IMPORTED_MAKER_PREFIX: Final = "imported "
"""Prefix of the maker of an imported summary, which counts as made by any model."""

_LOCK_TIMEOUT_S = 10.0  # for another process's transaction
_MAX_SUBJECTS_PER_QUERY = 500  # older versions of SQLite allow 999 parameters
_SCHEMA_STATEMENTS: Final = (
    "CREATE TABLE IF NOT EXISTS summaries (subject TEXT NOT NULL, maker TEXT NOT NULL, sentence TEXT NOT NULL,"
    " input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, made_ns INTEGER NOT NULL,"
    " PRIMARY KEY (subject, maker)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS failures (subject TEXT NOT NULL, maker TEXT NOT NULL, message TEXT NOT NULL,"
    " attempts INTEGER NOT NULL, failed_ns INTEGER NOT NULL, PRIMARY KEY (subject, maker)) WITHOUT ROWID",
    # Speed of a model, for the next run's estimate.
    "CREATE TABLE IF NOT EXISTS speeds (model TEXT PRIMARY KEY, pieces INTEGER NOT NULL, seconds REAL NOT NULL)",
)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """Summary of a subject, with its share of the request's tokens."""

    subject: str
    sentence: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SummaryFailure:
    """Last failure of a subject, the number of attempts and its time (nanoseconds since the epoch)."""

    message: str
    attempts: int
    failed_ns: int


def parse_maker_name(maker: str) -> str:
    """Return the name of the model or of the import."""
    return maker.partition(" ")[2]


class SummaryCache:
    """Summaries of one repository, shared by processes and threads.

    Args:
        directory: Directory of the file; both are created when something is stored.

    Raises:
        StoreError: The file cannot be read or written (from every method).
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def exists(self) -> bool:
        """True if anything was ever stored."""
        return self._path.exists()

    def find_latest(self, subjects: Iterable[str]) -> dict[str, str]:
        """Return the last summary of each subject that has one."""
        query = "SELECT subject, sentence FROM summaries WHERE subject IN ({}) ORDER BY made_ns"
        return dict(self._select(query, subjects))

    def find_subjects_by_maker(self, maker: str, subjects: Iterable[str]) -> set[str]:
        """Return the subjects with a summary by this maker or an imported one."""
        query = "SELECT subject FROM summaries WHERE subject IN ({}) AND (maker = ? OR maker GLOB ?)"
        return {row[0] for row in self._select(query, subjects, maker, f"{IMPORTED_MAKER_PREFIX}*")}

    def find_makers(self, subjects: Iterable[str]) -> dict[str, str]:
        """Return the maker of the last summary of each subject that has one."""
        query = "SELECT subject, maker FROM summaries WHERE subject IN ({}) ORDER BY made_ns"
        return dict(self._select(query, subjects))

    def find_failures(self, maker: str, subjects: Iterable[str]) -> dict[str, SummaryFailure]:
        """Return the failures of this maker's subjects that have no summary since."""
        query = "SELECT subject, message, attempts, failed_ns FROM failures WHERE subject IN ({}) AND maker = ?"
        return {row[0]: SummaryFailure(*row[1:]) for row in self._select(query, subjects, maker)}

    def put(self, maker: str, entries: Sequence[SummaryEntry]) -> None:
        """Store summaries as the last ones of their subjects, and clear their failures."""
        if not entries:
            return
        now = time.time_ns()

        def insert_entries(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (entry.subject, maker, entry.sentence, entry.input_tokens, entry.output_tokens, now)
                    for entry in entries
                ],
            )
            connection.executemany(
                "DELETE FROM failures WHERE subject = ? AND maker = ?", [(entry.subject, maker) for entry in entries]
            )

        self._write(insert_entries)

    def prefer_maker(self, maker: str, subjects: Iterable[str]) -> None:
        """Make a maker's earlier summaries of these subjects the last ones."""
        rows = [(time.time_ns(), subject, maker) for subject in subjects]
        if rows:
            query = "UPDATE summaries SET made_ns = ? WHERE subject = ? AND maker = ?"
            self._write(lambda connection: connection.executemany(query, rows))

    def record_failures(self, maker: str, messages: Mapping[str, str]) -> None:
        """Record failures, by subject."""
        if messages:
            now = time.time_ns()
            query = (
                "INSERT INTO failures VALUES (?, ?, ?, 1, ?) ON CONFLICT (subject, maker) DO UPDATE SET"
                " message = excluded.message, attempts = attempts + 1, failed_ns = excluded.failed_ns"
            )
            rows = [(subject, maker, message, now) for subject, message in messages.items()]
            self._write(lambda connection: connection.executemany(query, rows))

    def record_speed(self, model: str, summary_count: int, seconds: float) -> None:
        """Record the time a model took for a number of summaries, replacing the last record."""
        row = (model, summary_count, seconds)
        self._write(lambda connection: connection.execute("INSERT OR REPLACE INTO speeds VALUES (?, ?, ?)", row))

    def estimate_seconds_per_summary(self, model: str) -> float | None:
        """Return the model's time per summary in the last run; None if unknown."""
        rows = self._read(
            lambda connection: connection.execute(
                "SELECT seconds / pieces FROM speeds WHERE model = ? AND pieces > 0", (model,)
            ).fetchall()
        )
        return float(rows[0][0]) if rows else None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    # Internals

    def _select(self, query: str, subjects: Iterable[str], *more: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query over subjects, which fill its ``{}``."""
        unique = list(dict.fromkeys(subjects))

        def select(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = []
            for start in range(0, len(unique), _MAX_SUBJECTS_PER_QUERY):
                batch = unique[start : start + _MAX_SUBJECTS_PER_QUERY]
                rows += connection.execute(query.format(",".join("?" * len(batch))), (*batch, *more))
            return rows

        return self._read(select) if unique else []

    def _read(self, operation: Callable[[sqlite3.Connection], list[Result]]) -> list[Result]:
        with self._lock, _map_sqlite_errors(f"read {self._path}"):
            return operation(self._connect()) if self.exists else []

    def _write(self, operation: Callable[[sqlite3.Connection], object]) -> None:
        with self._lock, _map_sqlite_errors(f"write {self._path}"):
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
            try:
                operation(connection)
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            create_index_directory(self._path.parent)
            connection = sqlite3.connect(
                self._path, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA trusted_schema = OFF")  # the file may have come with the repository
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")  # enough with a write-ahead log
                for statement in _SCHEMA_STATEMENTS:
                    connection.execute(statement)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection


@contextmanager
def _map_sqlite_errors(action: str) -> Iterator[None]:
    hint = "Another process may be using it. If it is damaged, move it away; its summaries are then lost."
    try:
        with map_storage_errors(action):
            yield
    except sqlite3.Error as error:
        raise StoreError(f"Cannot {action}: {error}", hint=hint) from error
