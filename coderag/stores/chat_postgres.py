"""Conversations on a PostgreSQL server that several machines can share."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from coderag.errors import ConfigurationError, StoreError
from coderag.stores.chat_serialization import build_busy_error, build_serializer

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg import AsyncConnection

_LOCK_QUERY: Final = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0)) AS held"  # released when the connection ends
_UNLOCK_QUERY: Final = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"
_SETUP_LOCK_KEY: Final = "coderag: making tables"
_SETUP_POLL_INTERVAL_S: Final = 0.05
_CONNECT_TIMEOUT_S: Final = 10
_REQUIRED_MODULES: Final = ("psycopg", "langgraph.checkpoint.postgres")


class PostgresChatStorage:
    """Conversations in the tables of LangGraph's checkpointer, created when missing.

    Args:
        url: Such as ``postgresql://user@host/database``.

    Raises:
        ConfigurationError: The URL is missing, or the extra is not installed.
    """

    def __init__(self, url: str) -> None:
        if urlsplit(url).scheme not in {"postgresql", "postgres"}:
            hint = "Set chat.url to postgresql://user@host/database."
            raise ConfigurationError("chat.memory is 'postgres', but chat.url is not a PostgreSQL URL", hint=hint)
        if not all(map(_is_installed, _REQUIRED_MODULES)):
            message = "chat.memory is 'postgres', but the extra \"postgres\" is not installed"
            hint = 'Install the extra "postgres" of coderag-engine; from a checkout: pip install ".[postgres]"'
            raise ConfigurationError(message, hint=hint)
        self._url = url
        self._host = urlsplit(url).hostname or "this machine"

    @asynccontextmanager
    async def open(self) -> "AsyncIterator[AsyncPostgresSaver]":
        """Open a saver.

        Raises:
            StoreError: The server fails.
        """
        async with self._connect() as connection:
            yield await _open_saver(connection)

    @asynccontextmanager
    async def hold(self, key: str) -> "AsyncIterator[AsyncPostgresSaver]":
        """Open a saver to continue a thread.

        Raises:
            StoreError: Another process holds the thread, or the server fails.
        """
        async with self._connect() as connection:
            saver = await _open_saver(connection)
            if not await _try_lock(connection, key):
                raise build_busy_error(key)
            yield saver

    async def prune(self, saver: "BaseCheckpointSaver[str]", key: str) -> None:
        """Delete all checkpoints of a thread but the newest."""
        await saver.aprune([key], strategy="keep_latest")

    async def delete(self, saver: "BaseCheckpointSaver[str]", key: str) -> None:
        """Delete a thread."""
        await saver.adelete_thread(key)

    @asynccontextmanager
    async def _connect(self) -> "AsyncIterator[AsyncConnection[dict[str, Any]]]":
        from psycopg import AsyncConnection  # noqa: PLC0415  # an extra
        from psycopg.rows import dict_row  # noqa: PLC0415  # an extra

        with self._map_errors():
            connection = await AsyncConnection.connect(
                self._url,
                autocommit=True,
                prepare_threshold=0,
                row_factory=dict_row,
                connect_timeout=_CONNECT_TIMEOUT_S,
            )
            async with connection:
                yield connection

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        """Map errors of the server to ours, without the URL: it may contain a password."""
        from psycopg import Error  # noqa: PLC0415  # an extra

        try:
            yield
        except Error as error:
            message = f"Cannot access conversations on PostgreSQL server {self._host}: {error}"
            raise StoreError(message, hint="Check chat.url and whether the server is running.") from error


async def _open_saver(connection: "AsyncConnection[dict[str, Any]]") -> "AsyncPostgresSaver":
    """Open a saver and create its tables; an advisory lock keeps two processes from creating them at once."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415  # an extra

    while not await _try_lock(connection, _SETUP_LOCK_KEY):  # noqa: ASYNC110  # waiting in the server would block the lock's holder
        await asyncio.sleep(_SETUP_POLL_INTERVAL_S)
    try:
        saver = AsyncPostgresSaver(connection, serde=build_serializer())
        await saver.setup()
    finally:
        await connection.execute(_UNLOCK_QUERY, (_SETUP_LOCK_KEY,))
    return saver


async def _try_lock(connection: "AsyncConnection[dict[str, Any]]", key: str) -> bool:
    row = await (await connection.execute(_LOCK_QUERY, (key,))).fetchone()
    return row is not None and bool(row["held"])


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False
