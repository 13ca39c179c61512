"""Conversations in a SQLite database beside the index, which several processes can share."""

import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from coderag.errors import StoreError
from coderag.stores.chat_serialization import build_busy_error, build_serializer
from coderag.stores.disk import create_index_directory, map_storage_errors, to_store_error

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

_LOCK_TIMEOUT_S: Final = 30.0  # for another process's write
_SQLITE_FULL, _SQLITE_READ_ONLY = 13, 8  # SQLITE_FULL, SQLITE_READONLY
_CORRUPTION_CODES: Final = frozenset({11, 26})  # SQLITE_CORRUPT, SQLITE_NOTADB
_BUSY_CODES: Final = frozenset({5, 6})  # SQLITE_BUSY, SQLITE_LOCKED
_DELETE_OLDER_QUERY: Final = (
    "DELETE FROM {table} WHERE thread_id = :thread AND checkpoint_id <> (SELECT max(checkpoint_id) FROM checkpoints"
    " WHERE thread_id = :thread AND checkpoint_ns = '')"
)


class SqliteChatStorage:
    """Conversations in ``chat.sqlite``, readable by its owner only.

    Args:
        directory: Directory of the index.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.path = directory / "chat.sqlite"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncSqliteSaver | None]:
        """Open a saver for reading; None if there is no database."""
        if not self.path.exists():
            yield None
            return
        async with self._open_saver() as saver:
            yield saver

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[AsyncSqliteSaver]:
        """Open a saver to continue a thread.

        Raises:
            StoreError: Another process holds the thread, or the database fails.
        """
        import filelock  # noqa: PLC0415  # 0.07 s

        with map_storage_errors(f"store conversations in {self.path}"):
            create_index_directory(self._directory)
            path = self._build_lock_path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(path, timeout=0, thread_local=False)
            try:
                lock.acquire()
            except filelock.Timeout as error:
                raise build_busy_error(key) from error
        try:
            self._create_private_database()
            async with self._open_saver() as saver:
                yield saver
        finally:
            lock.release()

    async def prune(self, saver: "BaseCheckpointSaver[str]", key: str) -> None:
        """Delete all checkpoints of a thread but the newest."""
        assert isinstance(saver, AsyncSqliteSaver)
        async with saver.lock:
            for table in ("checkpoints", "writes"):
                await saver.conn.execute(_DELETE_OLDER_QUERY.format(table=table), {"thread": key})
            await saver.conn.commit()

    async def delete(self, saver: "BaseCheckpointSaver[str]", key: str) -> None:
        """Delete a thread and its held lock; on Windows, filelock removes the lock file on release."""
        await saver.adelete_thread(key)
        with suppress(PermissionError):
            self._build_lock_path(key).unlink(missing_ok=True)

    def _build_lock_path(self, key: str) -> Path:
        return self._directory / "chat-locks" / f"{key}.lock"

    def _create_private_database(self) -> None:
        """Create the database with owner-only permissions, which SQLite's side files inherit."""
        with map_storage_errors(f"store conversations in {self.path}"):
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(0o600)

    @asynccontextmanager
    async def _open_saver(self) -> AsyncIterator[AsyncSqliteSaver]:
        import aiosqlite  # noqa: PLC0415  # only conversations need it

        with self._map_errors():
            async with aiosqlite.connect(self.path, timeout=_LOCK_TIMEOUT_S) as connection:
                await connection.execute("PRAGMA secure_delete = ON")  # deleted content is overwritten in the file
                saver = AsyncSqliteSaver(connection, serde=build_serializer())
                await saver.setup()
                yield saver

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        """Map errors of SQLite to ours, with the file's path. No error deletes data."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            action = f"access conversations in {self.path}"
            if code in _CORRUPTION_CODES:
                hint = (
                    "The file is damaged. Move it away to start over; `sqlite3 FILE .recover` may recover its content."
                )
                raise StoreError(f"Cannot {action}: {error}", hint=hint) from error
            if code in _BUSY_CODES:
                raise StoreError(f"Cannot {action}: another process is writing to it", hint="Try again.") from error
            hint = "Check the file's permissions and the free disk space."
            raise to_store_error(error, action, hint=hint) from error
