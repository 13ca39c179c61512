"""The database of the server: SQLite by default, PostgreSQL by URL."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session, sessionmaker

from coderag.errors import ConfigurationError, DatabaseUnavailableError

_BUSY_TIMEOUT_S: Final = 10
_POOL_TIMEOUT_S: Final = 10
_CONNECT_TIMEOUT_S: Final = 5
_POOL_SIZE: Final = 10

_BEGIN: Final = "coderag_begin"
"""Execution option with the statement that begins a transaction on SQLite."""


class Database:
    """Connections to the database. Thread-safe.

    Args:
        url: URL as of SQLAlchemy: ``sqlite:///FOLDER/server.sqlite`` or ``postgresql://USER:PASSWORD@HOST/NAME``.

    Raises:
        ConfigurationError: The URL is invalid, or its driver is missing.
    """

    def __init__(self, url: str) -> None:
        self.engine = _create_engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        self._readers = sessionmaker(self.engine.execution_options(**{_BEGIN: "BEGIN"}), expire_on_commit=False)

    @property
    def is_sqlite(self) -> bool:
        """Return whether it is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def begin(self) -> Iterator[Session]:
        """Open a transaction; it is committed at the end of the block and rolled back on an error.

        On SQLite it takes the write lock at once, so that it cannot fail half-way for a reader that turned writer.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        with translate_errors(), self._sessions.begin() as session:
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a transaction that only reads; on SQLite it waits for no writer.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        with translate_errors(), self._readers() as session:
            yield session

    def check(self) -> None:
        """Check that the database answers.

        Raises:
            DatabaseUnavailableError: It does not.
        """
        with translate_errors(), self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of an unreachable or overloaded database as `DatabaseUnavailableError`."""
    try:
        yield
    except (DBAPIError, PoolTimeoutError) as error:
        if not _is_outage(error):
            raise
        raise DatabaseUnavailableError("the database does not answer", hint="Try again in a moment.") from error


def _is_outage(error: SQLAlchemyError) -> bool:
    if isinstance(error, PoolTimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    # OperationalError covers lost connections, locks and full disks on both systems; bad statements raise others.
    return error.connection_invalidated or type(error).__name__ in ("OperationalError", "InterfaceError")


def _create_engine(url: str) -> Engine:
    hint = "Give sqlite:///FOLDER/server.sqlite or postgresql://USER:PASSWORD@HOST/NAME."
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigurationError("the database URL is invalid", hint=hint) from error
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        engine = create_engine(
            parsed,
            connect_args={"timeout": _BUSY_TIMEOUT_S, "check_same_thread": False},
            pool_size=_POOL_SIZE,
            pool_timeout=_POOL_TIMEOUT_S,
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if backend != "postgresql":
        raise ConfigurationError(f"the database {backend!r} is not supported", hint=hint)
    try:
        return create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            pool_size=_POOL_SIZE,
            max_overflow=_POOL_SIZE,
            pool_timeout=_POOL_TIMEOUT_S,
            connect_args={"connect_timeout": _CONNECT_TIMEOUT_S},
        )
    except (NoSuchModuleError, ImportError) as error:
        message = "the driver of PostgreSQL is not installed"
        raise ConfigurationError(message, hint="pip install 'coderag-engine[server,postgres]'") from error


def _prepare_sqlite(connection: Any, record: object) -> None:  # noqa: ANN401  # a connection of the driver
    del record
    connection.isolation_level = None  # the driver would begin transactions by itself, too late
    for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN IMMEDIATE"))
