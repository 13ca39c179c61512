"""SQLite file of a mirror: records, compressed texts, failures, checkpoints and runs of its sources."""

import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from coderag.errors import StorageFullError, StoreError
from coderag.stores.disk import create_index_directory

FILE_NAME: Final = "items.sqlite"

_SCHEMA_VERSION: Final = 1
_LOCK_TIMEOUT_S: Final = 10.0  # for another process's transaction
_COMPRESSION_LEVEL: Final = 1  # texts of some kilobytes; higher levels save little
_MAX_TEXT_BYTES: Final = 1 << 28
_DAMAGED_CODES: Final = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_FULL_CODES: Final = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR))

_SCHEMA_STATEMENTS: Final = (
    """CREATE TABLE items (
        source TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL UNIQUE, content_hash TEXT NOT NULL,
        title TEXT NOT NULL, url TEXT NOT NULL, revision TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL,
        labels TEXT NOT NULL, people TEXT NOT NULL, fields TEXT NOT NULL, links TEXT NOT NULL, access TEXT NOT NULL,
        created TEXT, modified TEXT, mirrored TEXT NOT NULL,
        PRIMARY KEY (source, id)) WITHOUT ROWID""",
    # Size and time of the file as written: whatever differs is compared by content, and written again.
    """CREATE TABLE texts (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, text BLOB NOT NULL)""",
    """CREATE TABLE failures (
        source TEXT NOT NULL, id TEXT NOT NULL, reason TEXT NOT NULL, url TEXT NOT NULL, attempts INTEGER NOT NULL,
        first_failed TEXT NOT NULL, last_failed TEXT NOT NULL, PRIMARY KEY (source, id)) WITHOUT ROWID""",
    "CREATE TABLE checkpoints (source TEXT PRIMARY KEY, value TEXT NOT NULL, stored TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY, source TEXT NOT NULL, started TEXT NOT NULL, ended TEXT, outcome TEXT NOT NULL,
        message TEXT NOT NULL, notes TEXT NOT NULL, pages INTEGER NOT NULL, changes TEXT NOT NULL)""",
    "CREATE INDEX runs_by_source ON runs (source, number)",
    "CREATE TABLE properties (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    f"PRAGMA user_version = {_SCHEMA_VERSION}",
)


class DamagedMirrorError(StoreError):
    """The file of a mirror is no usable SQLite file. A synchronisation replaces it."""


class ItemDatabase:
    """One connection, shared by the threads of a process. Nothing is created by reading.

    Args:
        folder: Folder of the file.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection | None]:
        """Yield the connection, or None if nothing is mirrored yet.

        Raises:
            StoreError: The file cannot be read.
        """
        with self._lock, self._map_errors("read"):
            yield self._connect(creates=False)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, committed at the end and rolled back by an error.

        Raises:
            StoreError: The file cannot be written.
        """
        with self._lock, self._map_errors("write"):
            connection = self._connect(creates=True)
            assert connection is not None
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def quarantine(self) -> Path:
        """Put the file aside, so that the next write begins a new one; return where it is kept."""
        with self._lock, self._map_errors("replace"):
            self.close()
            backup = self._path.with_name(f"{FILE_NAME}.damaged")
            self._path.replace(backup)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(FILE_NAME + suffix).unlink(missing_ok=True)
            return backup

    def close(self) -> None:
        """Close the connection; a later call opens it again."""
        with self._lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    def _connect(self, *, creates: bool) -> sqlite3.Connection | None:
        identity = _read_identity(self._path)
        if self._connection is not None and identity == self._identity:
            return self._connection
        self.close()  # another process has replaced or removed the file
        if identity is None and not creates:
            return None
        create_index_directory(self._path.parent)
        connection = sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")  # the file may have come with the repository
            connection.execute("PRAGMA synchronous = NORMAL")  # enough with a write-ahead log
            connection.create_function("casefold", 1, _fold_case, deterministic=True)
            self._check_schema(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._identity = connection, _read_identity(self._path) or (0, 0)
        return connection

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:  # unless another process was first
                for statement in _SCHEMA_STATEMENTS:
                    connection.execute(statement)
            connection.execute("COMMIT")
        elif version != _SCHEMA_VERSION:
            hint = "Run `coderag sources sync` to mirror everything again."
            raise DamagedMirrorError(f"{self._path} has format {version}, and this version reads 1", hint=hint)

    @contextmanager
    def _map_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            message = f"Cannot {verb} {self._path}: {error}"
            if code in _DAMAGED_CODES:
                self.close()
                hint = "Run `coderag sources sync` to mirror everything again."
                raise DamagedMirrorError(message, hint=hint) from error
            if code in _FULL_CODES:
                raise StorageFullError(message, hint="Free some space and run the command again.") from error
            raise StoreError(message) from error


def compress_text(text: str) -> bytes:
    """Compress a text for the table of texts."""
    return zlib.compress(text.encode(), _COMPRESSION_LEVEL)


def decompress_text(data: bytes) -> str:
    """Restore a text.

    Raises:
        StoreError: It is damaged, or larger than any item.
    """
    decompressor = zlib.decompressobj()
    try:
        text = decompressor.decompress(data, _MAX_TEXT_BYTES)
        if decompressor.unconsumed_tail:
            raise ValueError("it is too large")
        return text.decode()
    except (zlib.error, ValueError) as error:
        raise DamagedMirrorError(f"A mirrored text is damaged: {error}") from error


def _fold_case(value: object) -> str:
    return str(value).casefold()


def _read_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
