"""Changed declarations by commit, cached in one SQLite file: commits never change, so entries stay valid for ever.

Rewritten histories leave entries behind that nothing asks for; a rebuild of the file is never needed for that. A damaged file,
or one of another version of the parser, is replaced.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from coderag.errors import StoreError
from coderag.ingestion.pipeline_version import PIPELINE_VERSION
from coderag.lineage.commit_declarations import CommitDeclarations
from coderag.schema.lineage import DeclarationChange, DeclarationChangeKind
from coderag.stores.disk import create_index_directory

FILE_NAME: Final = "declarations-v1.sqlite"

_LOCK_TIMEOUT_S: Final = 10.0
_MAX_PARAMETERS: Final = 500
_KINDS: Final[tuple[DeclarationChangeKind, ...]] = ("added", "removed", "signature", "body")
_STATEMENTS: Final = (
    "CREATE TABLE IF NOT EXISTS meta (version INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS commits (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, note TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS declarations (number INTEGER PRIMARY KEY, path TEXT NOT NULL, name TEXT NOT NULL,"
    " kind TEXT NOT NULL, UNIQUE (name, path, kind))",
    "CREATE TABLE IF NOT EXISTS signatures (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS changes (com INTEGER NOT NULL, rank INTEGER NOT NULL, decl INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, old_start INTEGER NOT NULL, old_end INTEGER NOT NULL, new_start INTEGER NOT NULL,"
    " new_end INTEGER NOT NULL, old_signature INTEGER, new_signature INTEGER, PRIMARY KEY (com, rank)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS changes_by_declaration ON changes (decl)",
)
_SELECT: Final = (
    "SELECT commits.id, commits.note, declarations.path, declarations.name, declarations.kind, changes.kind,"
    " old_start, old_end, new_start, new_end, old.text, new.text FROM commits LEFT JOIN changes ON com = commits.number"
    " LEFT JOIN declarations ON declarations.number = decl LEFT JOIN signatures AS old ON old.number = old_signature"
    " LEFT JOIN signatures AS new ON new.number = new_signature WHERE {} ORDER BY commits.number, rank"
)
_SELECT_BY_NAME: Final = (
    "SELECT DISTINCT id FROM declarations JOIN changes ON decl = declarations.number"
    " JOIN commits ON commits.number = com WHERE name = ? AND path IN ({})"
)


class DeclarationStore:
    """Changed declarations of the commits of one repository, shared by processes and threads.

    Args:
        index_folder: Folder of the index.
        folder: Folder of the file below it; both are created when something is stored.
    """

    def __init__(self, index_folder: Path, folder: Path) -> None:
        self._index_folder = index_folder
        self._path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __del__(self) -> None:
        """Close the file, for callers that do not."""
        with suppress(AttributeError):  # the constructor failed
            self._disconnect()

    @property
    def size(self) -> int:
        """Bytes on disk."""
        with suppress(OSError):
            return self._path.stat().st_size
        return 0

    def list_commits(self) -> set[str]:
        """Return the ids of the commits whose declarations are stored."""
        return {row[0].hex() for row in self._select("SELECT id FROM commits")}

    def get(self, commits: Sequence[str]) -> dict[str, CommitDeclarations]:
        """Return the declarations of those commits that are stored."""
        records: dict[str, CommitDeclarations] = {}
        for start in range(0, len(commits), _MAX_PARAMETERS):
            batch = [bytes.fromhex(commit) for commit in commits[start : start + _MAX_PARAMETERS]]
            condition = f"commits.id IN ({','.join('?' * len(batch))})"
            for record in _group_rows(self._select(_SELECT.format(condition), batch)):
                records[record.commit] = record
        return records

    def find_commits(self, paths: Sequence[str], name: str) -> list[str]:
        """Return the ids of the stored commits that changed a declaration, in the order in which they were stored.

        Args:
            paths: Paths that its file has had.
            name: Its qualified name.
        """
        places = ",".join("?" * len(paths))
        return [row[0].hex() for row in self._select(_SELECT_BY_NAME.format(places), [name, *paths])]

    def put(self, records: Iterable[CommitDeclarations]) -> None:
        """Store the declarations of commits; those of stored commits are left as they are."""

        def insert(connection: sqlite3.Connection) -> None:
            for record in records:
                cursor = connection.execute(
                    "INSERT OR IGNORE INTO commits (id, note) VALUES (?, ?)",
                    (bytes.fromhex(record.commit), record.note),
                )
                if cursor.rowcount:
                    number = cursor.lastrowid
                    rows = [
                        (number, rank, *_number_change(connection, change))
                        for rank, change in enumerate(record.changes)
                    ]
                    connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

        with self._lock, self._replace_damaged() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                insert(connection)
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._disconnect()

    # Internals

    def _select(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            if not self._path.exists():
                return []
            with self._replace_damaged() as connection:
                return connection.execute(query, parameters).fetchall()
        return []

    @contextmanager
    def _replace_damaged(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection. A damaged file is removed, so that the next call starts a new one.

        Raises:
            StoreError: The file cannot be read or written.
        """
        try:
            yield self._connect()
        except sqlite3.OperationalError as error:  # locked, full, or not writable
            self._disconnect()
            message = f"Cannot use {self._path}: {error}"
            raise StoreError(message, hint="Another process may be using it; try again.") from error
        except sqlite3.DatabaseError as error:
            self._disconnect()
            self._remove()
            message = f"{self._path} was damaged and is removed: {error}"
            raise StoreError(message, hint="Run the command again; the declarations are read again.") from error

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            create_index_directory(self._index_folder)
            self._path.parent.mkdir(exist_ok=True)
            connection = self._open()
            if connection is None:
                self._remove()
                connection = self._open()
            if connection is None:
                raise sqlite3.OperationalError("cannot be created")
            self._connection = connection
        return self._connection

    def _open(self) -> sqlite3.Connection | None:
        """Open the file; None if it is damaged or of another version."""
        connection = sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        try:
            connection.execute("PRAGMA trusted_schema = OFF")  # the file may have come with the repository
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            for statement in _STATEMENTS:
                connection.execute(statement)
            connection.execute("INSERT INTO meta SELECT ? WHERE NOT EXISTS (SELECT 1 FROM meta)", (PIPELINE_VERSION,))
            if connection.execute("SELECT version FROM meta").fetchone() == (PIPELINE_VERSION,):
                return connection
        except sqlite3.OperationalError:
            connection.close()
            raise
        except sqlite3.DatabaseError:
            pass
        connection.close()
        return None

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _number_change(connection: sqlite3.Connection, change: DeclarationChange) -> tuple[int | None, ...]:
    declaration = _intern(
        connection, "declarations", ("path", "name", "kind"), (change.path, change.qualified_name, change.kind)
    )
    signatures = [
        _intern(connection, "signatures", ("text",), (text,)) if text else None
        for text in (change.old_signature, change.new_signature)
    ]
    lines = change.old_start_line, change.old_end_line, change.new_start_line, change.new_end_line
    return declaration, _KINDS.index(change.change), *lines, *signatures


def _intern(connection: sqlite3.Connection, table: str, columns: Sequence[str], texts: Sequence[str]) -> int:
    # SQLite rejects surrogates of undecodable bytes as text.
    values = [
        text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for text in texts
    ]
    condition = " AND ".join(f"{column} = ?" for column in columns)
    row = connection.execute(f"SELECT number FROM {table} WHERE {condition}", values).fetchone()  # noqa: S608  # constants
    if row is not None:
        return int(row[0])
    places = ",".join("?" * len(columns))
    query = f"INSERT INTO {table} ({','.join(columns)}) VALUES ({places})"  # noqa: S608  # constants
    return int(connection.execute(query, values).lastrowid or 0)


def _group_rows(rows: Iterable[tuple[Any, ...]]) -> Iterator[CommitDeclarations]:
    current: CommitDeclarations | None = None
    for identity, note, path, name, kind, change, old_start, old_end, new_start, new_end, old, new in rows:
        commit = identity.hex()
        if current is None or current.commit != commit:
            if current is not None:
                yield current
            current = CommitDeclarations(commit, [], note)
        if path is not None:
            lines = (old_start, old_end, new_start, new_end)
            current.changes.append(DeclarationChange(path, name, kind, _KINDS[change], *lines, old or "", new or ""))
    if current is not None:
        yield current
