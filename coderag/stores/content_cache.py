"""Content-addressed cache of expensive results: parsed files, vectors of a remote model.

One SQLite file is shared by all working trees of a repository, so a branch switch, a rename or a second tree reuses
results. Losing it costs time, never a result, so its failures are not errors. A damaged file is quarantined and
replaced. A locked or read-only file or a full disk disables the cache in this process, with one warning.

Several processes may use it at once, each with its own `ContentCache`; an open one does not survive a fork.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from coderag.stores.disk import FULL_ERRNOS, create_index_directory

FILE_NAME: Final = "content-v1.sqlite"
"""The number is the format version; files of other versions are left alone."""

_SCHEMA_VERSION = 1
_LOCK_TIMEOUT_S = 5.0  # for another process's transaction
_MAX_COMPRESSION_RATIO = 0.9  # of the size; above it, decompression costs more than it saves
_SAMPLE_BYTES = 1_024
_CODEC = "zstd"  # eight times as fast as zlib on parsed files
_MAX_VALUE_BYTES = 1 << 28
_FULL_CODES = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR))
_CORRUPTION_CODES = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))

# SQLite rewrites whole rows, so the fields that change with every use have a small row of their own.
_SCHEMA_STATEMENTS = (
    "CREATE TABLE clock (tick INTEGER NOT NULL)",
    "INSERT INTO clock VALUES (0)",
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL,"
    " used INTEGER NOT NULL)",
    # Size before compression; 0 if stored uncompressed.
    "CREATE TABLE contents (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, value BLOB NOT NULL)",
    f"PRAGMA user_version = {_SCHEMA_VERSION}",
)
_FIND_QUERY = (
    "SELECT contents.size, value FROM entries JOIN contents USING (id) WHERE id = ? AND namespace = ? AND key = ?"
)
_OVER_LIMIT_QUERY = (
    "SELECT id FROM (SELECT id, sum(size) OVER (ORDER BY used DESC, id DESC) AS total FROM entries) WHERE total > ?"
)

_logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class ContentCache:
    """Cache of bytes by namespace and key.

    Args:
        directory: Directory of the file, created if missing.
        limit_bytes: Total size of stored values after `prune`; the file is somewhat larger.
    """

    def __init__(self, directory: Path, *, limit_bytes: int) -> None:
        self._path = directory / FILE_NAME
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._used_rows: set[int] = set()
        self._is_off = False
        self._run(lambda _: None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def get(self, namespace: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values by key. The next `put` or `close` records their use."""
        return self._run(lambda connection: self._select_values(connection, namespace, keys), {})

    def find_existing(self, namespace: str, keys: Sequence[str]) -> set[str]:
        """Return the keys that are cached, without recording a use."""
        return self._run(lambda connection: self._select_existing(connection, namespace, keys), set())

    def put(self, namespace: str, items: Mapping[str, bytes]) -> None:
        """Store values in one transaction."""
        if items:
            self._run(lambda connection: self._upsert_values(connection, namespace, items), None)

    def prune(self) -> None:
        """Evict the least recently used values until the rest fits the limit."""
        self._run(self._delete_excess, None)

    def close(self) -> None:
        """Record uses and close the file; later calls read and store nothing."""
        if self._used_rows:
            self._run(self._flush_uses, None)
        with self._lock:
            self._disconnect()
            self._is_off = True

    # Internals

    def _run(self, operation: Callable[[sqlite3.Connection], Result], default: Result) -> Result:
        """Run an operation on the open file; return `default` if the cache is or becomes disabled."""
        with self._lock:
            if self._is_off:
                return default
            try:
                try:
                    return operation(self._connect())
                except sqlite3.DatabaseError as error:
                    if not _is_corruption(error):
                        raise
                    self._quarantine()
                    return operation(self._connect())
            except (sqlite3.Error, OSError) as error:
                self._disconnect()
                self._is_off = True
                # The index itself reports a full disk.
                level = logging.INFO if _is_full(error) else logging.WARNING
                _logger.log(level, "The cache %s is disabled in this process: %s", self._path, error)
                return default

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            create_index_directory(self._path.parent)
            self._connection = connection = sqlite3.connect(
                self._path, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            self._identity = _read_identity(self._path)
            connection.execute("PRAGMA trusted_schema = OFF")  # the file may have come with the repository
            connection.execute("PRAGMA synchronous = NORMAL")  # enough with a write-ahead log
            if not _has_schema(connection):
                with _lock_file(self._path):
                    _create_schema(connection)
        return self._connection

    def _disconnect(self) -> None:
        self._used_rows.clear()
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _quarantine(self) -> None:
        self._disconnect()
        with _lock_file(self._path):
            if _read_identity(self._path) != self._identity:  # another process was first
                return
            quarantine_path = self._path.with_name(f"{self._path.name}.damaged")
            self._path.replace(quarantine_path)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        _logger.warning(
            "The cache %s was damaged and is replaced; the old file is kept as %s", self._path, quarantine_path.name
        )

    def _select_values(self, connection: sqlite3.Connection, namespace: str, keys: Sequence[str]) -> dict[str, bytes]:
        values = {}
        connection.execute("BEGIN")
        for key in keys:
            row = _compute_row_id(namespace, key)
            for size, stored in connection.execute(_FIND_QUERY, (row, namespace, key)):
                if (value := _decompress(size, stored)) is not None:
                    values[key] = value
                    self._used_rows.add(row)
        connection.execute("COMMIT")
        return values

    def _select_existing(self, connection: sqlite3.Connection, namespace: str, keys: Sequence[str]) -> set[str]:
        query = "SELECT 1 FROM entries WHERE id = ? AND namespace = ? AND key = ?"
        return {
            key
            for key in keys
            if connection.execute(query, (_compute_row_id(namespace, key), namespace, key)).fetchone()
        }

    def _upsert_values(self, connection: sqlite3.Connection, namespace: str, items: Mapping[str, bytes]) -> None:
        packed = [(_compute_row_id(namespace, key), key, *_compress(value)) for key, value in items.items()]
        with _open_transaction(connection):
            now = self._advance_clock(connection)
            connection.executemany(
                "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)",
                [(row, namespace, key, len(value), now) for row, key, _, value in packed],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO contents VALUES (?, ?, ?)",
                [(row, size, value) for row, _, size, value in packed],
            )

    def _flush_uses(self, connection: sqlite3.Connection) -> None:
        with _open_transaction(connection):
            self._advance_clock(connection)

    def _advance_clock(self, connection: sqlite3.Connection) -> int:
        """Record pending uses and return the new time: a monotonic count of writes."""
        connection.execute("UPDATE clock SET tick = tick + 1")
        now: int = connection.execute("SELECT tick FROM clock").fetchone()[0]
        connection.executemany(
            "UPDATE entries SET used = ? WHERE id = ?", [(now, row) for row in sorted(self._used_rows)]
        )
        self._used_rows.clear()
        return now

    def _delete_excess(self, connection: sqlite3.Connection) -> None:
        pages, page_bytes = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        if pages * page_bytes <= self._limit_bytes:  # then the values fit as well
            return
        with _open_transaction(connection):
            self._advance_clock(connection)
            excess = connection.execute(_OVER_LIMIT_QUERY, (self._limit_bytes,)).fetchall()
            connection.executemany("DELETE FROM contents WHERE id = ?", excess)
            connection.executemany("DELETE FROM entries WHERE id = ?", excess)
        if excess:
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free only one page


@contextmanager
def _open_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Keep other processes from creating or replacing the file."""
    import filelock  # noqa: PLC0415 - 0.07 s, and rarely needed

    with filelock.FileLock(path.with_suffix(".lock"), timeout=_LOCK_TIMEOUT_S):
        yield


def _read_identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _is_corruption(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _CORRUPTION_CODES


def _is_full(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _FULL_CODES or getattr(error, "errno", 0) in FULL_ERRNOS


def _has_schema(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == _SCHEMA_VERSION)


def _create_schema(connection: sqlite3.Connection) -> None:
    if not _has_schema(connection):  # unless another process has done so meanwhile
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        with _open_transaction(connection):
            for statement in _SCHEMA_STATEMENTS:
                connection.execute(statement)


def _compute_row_id(namespace: str, key: str) -> int:
    """Compute the row number of a value from its namespace and key."""
    name = f"{namespace}\0{key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little", signed=True)


def _compress(value: bytes) -> tuple[int, bytes]:
    """Return the original size (0 if stored uncompressed) and the stored bytes."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    for part in (value[:_SAMPLE_BYTES], value):  # vectors do not shrink, and trying costs more than storing them
        compressed: bytes = pa.compress(part, codec=_CODEC, asbytes=True)
        if len(compressed) >= _MAX_COMPRESSION_RATIO * len(part):
            return 0, value
    return len(value), compressed


def _decompress(size: object, stored: object) -> bytes | None:
    """Return the value, or None if it is invalid: the file may have come with the repository."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    if not isinstance(stored, bytes) or not isinstance(size, int) or not 0 <= size <= _MAX_VALUE_BYTES:
        return None
    try:
        return pa.decompress(stored, decompressed_size=size, codec=_CODEC, asbytes=True) if size else stored
    except (OSError, ValueError):
        return None
