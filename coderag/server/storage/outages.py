"""Errors of a database that is away, told apart from errors of the program."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from coderag.errors import DatabaseUnavailableError

_LOG: Final = logging.getLogger(__name__)

_HINT: Final = "Try again in a moment."
_BUSY: Final = "the database is busy"
_FULL: Final = "the disk of the database is full"
_AWAY: Final = "the database does not answer"

_PRIMARY_CODE: Final = 0xFF
"""Mask of SQLite's primary error code; the higher bits refine it."""

_SQLITE_OUTAGES: Final = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_PROTOCOL: _BUSY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_NOMEM: _AWAY,
    sqlite3.SQLITE_READONLY: _AWAY,
    sqlite3.SQLITE_IOERR: _AWAY,
    sqlite3.SQLITE_CORRUPT: _AWAY,
    sqlite3.SQLITE_NOTADB: _AWAY,
    sqlite3.SQLITE_CANTOPEN: _AWAY,
}

_POSTGRES_OUTAGES: Final = {
    "53100": _FULL,
    "55P03": _BUSY,  # lock_timeout
    "40001": _BUSY,  # serialization failure
    "40P01": _BUSY,  # deadlock
}


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of an unreachable, overloaded or full database as `DatabaseUnavailableError`.

    Its text names no host and no file, as callers of the server see it; the log has the reason.
    """
    try:
        yield
    except (DBAPIError, PoolTimeoutError) as error:
        message = _describe_outage(error)
        if message is None:
            raise
        _LOG.warning("%s: %s", message, _summarize(error))
        raise DatabaseUnavailableError(message, hint=_HINT) from error


def _describe_outage(error: SQLAlchemyError) -> str | None:
    """Describe an outage for callers; None for an error of another kind."""
    if isinstance(error, PoolTimeoutError):
        return _BUSY
    if not isinstance(error, DBAPIError):
        return None
    cause = error.orig
    if isinstance(cause, sqlite3.Error):  # an OperationalError of SQLite may be a bad statement, too
        code = getattr(cause, "sqlite_errorcode", None)
        return None if code is None else _SQLITE_OUTAGES.get(code & _PRIMARY_CODE)
    state = getattr(cause, "sqlstate", None)
    if state in _POSTGRES_OUTAGES:
        return _POSTGRES_OUTAGES[state]
    is_outage = error.connection_invalidated or type(error).__name__ in ("OperationalError", "InterfaceError")
    return _AWAY if is_outage else None


def _summarize(error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())[:500]
