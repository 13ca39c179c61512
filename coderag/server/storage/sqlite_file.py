"""The file of a database on SQLite: who may create it, and what happens when it is removed or replaced."""

import logging
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DisconnectionError

from coderag.errors import DatabaseUnavailableError
from coderag.system.atomic_write import create_private

BEGIN_OPTION: Final = "coderag_begin"
"""Execution option with the statement that begins a transaction."""

_PRAGMAS: Final = ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL")
_RETRY_S: Final = 0.05
_IDENTITY: Final = "coderag_identity"
"""Key of a connection's file in its information: device and inode."""

_LOG: Final = logging.getLogger(__name__)


class SqliteFile:
    """The file behind an engine on SQLite.

    A connection keeps working on a file that was removed, and all that it writes is lost. So each transaction looks
    whether the path still names the file that its connection has open. A file is created once at most: one that is
    removed later is an outage until it is back, never a new and empty database.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_known = False

    def listen(self, engine: Engine) -> None:
        """Prepare the connections and transactions of an engine."""
        event.listen(engine, "do_connect", self._open)
        event.listen(engine, "connect", self._prepare)
        event.listen(engine, "checkout", self._check_out)
        event.listen(engine, "begin", _begin)
        event.listen(engine, "commit", self._check_commit)

    def _open(self, dialect: object, record: object, arguments: list[Any], options: dict[str, Any]) -> Any:  # noqa: ANN401
        del dialect, record
        if not self._is_known and not self.path.exists():
            with suppress(OSError):  # SQLite says what is wrong, in its own words
                create_private(self.path, b"")
        # mode=rw never creates a file.
        return sqlite3.connect(f"file:{quote(str(self.path))}?mode=rw", *arguments[1:], **{**options, "uri": True})

    def _prepare(self, connection: Any, record: Any) -> None:  # noqa: ANN401  # of the driver and of the pool
        connection.isolation_level = None  # the driver would begin transactions by itself, too late
        identity = _identify(self.path)
        for pragma in _PRAGMAS:  # the first one opens the file
            _execute_patiently(connection, f"PRAGMA {pragma}")
        self._is_known = True
        record.info[_IDENTITY] = identity if identity == _identify(self.path) else None

    def _check_out(self, connection: object, record: Any, proxy: object) -> None:  # noqa: ANN401
        del connection, proxy
        if not self._is_same(record.info):
            raise DisconnectionError(f"{self.path}: was removed or replaced")  # the pool opens it again

    def _check_commit(self, connection: Connection) -> None:
        if not self._is_same(connection.info):
            _LOG.warning("%s: was removed or replaced during a transaction", self.path)
            raise DatabaseUnavailableError("the database does not answer", hint="Try again in a moment.")

    def _is_same(self, info: Mapping[Any, Any]) -> bool:
        identity = info.get(_IDENTITY)
        return identity is not None and identity == _identify(self.path)


def _execute_patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Run a statement that SQLite refuses at once, without its own waiting, while another process does the same."""
    (timeout_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    end = time.monotonic() + timeout_ms / 1_000
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(BEGIN_OPTION, "BEGIN IMMEDIATE"))


def _identify(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
