"""Conversations in a SQLite database beside the index, which several processes may use at once."""

import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from coderag.errors import StoreError
from coderag.stores.chat_serialization import busy, plain_values
from coderag.stores.disk import make_own_directory, storage_errors, translated

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

_WAIT_S: Final = 30.0  # for another process's write
_FULL, _READ_ONLY = 13, 8  # SQLITE_FULL, SQLITE_READONLY
_DAMAGED: Final = frozenset({11, 26})  # SQLITE_CORRUPT, SQLITE_NOTADB
_BUSY: Final = frozenset({5, 6})  # SQLITE_BUSY, SQLITE_LOCKED
_OLDER: Final = (
    "DELETE FROM {table} WHERE thread_id = :thread AND checkpoint_id <> (SELECT max(checkpoint_id) FROM checkpoints"
    " WHERE thread_id = :thread AND checkpoint_ns = '')"
)


class SqliteMemory:
    """Keeps conversations in ``chat.sqlite``, which only its owner may read.

    Args:
        directory: Of the index.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.path = directory / "chat.sqlite"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncSqliteSaver | None]:
        """Return a saver, to read; None if there is no database."""
        if not self.path.exists():
            yield None
            return
        async with self._saver() as saver:
            yield saver

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[AsyncSqliteSaver]:
        """Return a saver, to go on with a thread.

        Raises:
            StoreError: Another process does, or the database cannot be used.
        """
        import filelock  # noqa: PLC0415  # 0.07 s

        with storage_errors(f"keep conversations in {self.path}"):
            make_own_directory(self._directory)
            path = self._lock_path(key)
            path.parent.mkdir(exist_ok=True)
            lock = filelock.FileLock(path, timeout=0, thread_local=False)
            try:
                lock.acquire()
            except filelock.Timeout as error:
                raise busy(key) from error
        try:
            self._make()
            async with self._saver() as saver:
                yield saver
        finally:
            lock.release()

    async def prune(self, saver: "BaseCheckpointSaver[str]", key: str) -> None:
        """Drop all checkpoints of a thread but the newest."""
        assert isinstance(saver, AsyncSqliteSaver)
        async with saver.lock:
            for table in ("checkpoints", "writes"):
                await saver.conn.execute(_OLDER.format(table=table), {"thread": key})
            await saver.conn.commit()

    async def delete(self, saver: "BaseCheckpointSaver[str]", key: str) -> None:
        """Delete a thread and its lock, which is held; on Windows filelock removes that when it is given back."""
        await saver.adelete_thread(key)
        with suppress(PermissionError):
            self._lock_path(key).unlink(missing_ok=True)

    def _lock_path(self, key: str) -> Path:
        return self._directory / "chat-locks" / f"{key}.lock"

    def _make(self) -> None:
        """Make the database so that from its first byte nobody else may read it; SQLite's other files do likewise."""
        with storage_errors(f"keep conversations in {self.path}"):
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(0o600)

    @asynccontextmanager
    async def _saver(self) -> AsyncIterator[AsyncSqliteSaver]:
        import aiosqlite  # noqa: PLC0415  # only conversations need it

        with self._errors():
            async with aiosqlite.connect(self.path, timeout=_WAIT_S) as connection:
                await connection.execute("PRAGMA secure_delete = ON")  # what is deleted is gone from the file
                saver = AsyncSqliteSaver(connection, serde=plain_values())
                await saver.setup()
                yield saver

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite into ours, which name the file. Nothing is ever deleted because of one."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            what = f"use the conversations in {self.path}"
            if code in _DAMAGED:
                hint = (
                    "The file is damaged. Move it away to begin anew; `sqlite3 FILE .recover` may save what is in it."
                )
                raise StoreError(f"Cannot {what}: {error}", hint=hint) from error
            if code in _BUSY:
                raise StoreError(f"Cannot {what}: another process is writing there", hint="Try again.") from error
            hint = "Check the permissions of the file and its folder, and the space left."
            raise translated(error, what, hint=hint) from error
