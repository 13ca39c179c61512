"""The database of the server: SQLite by default, PostgreSQL by URL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.orm import Session, sessionmaker

from coderag.errors import ConfigurationError
from coderag.server.storage.outages import translate_errors
from coderag.server.storage.sqlite_file import BEGIN_OPTION, SqliteFile

DEFAULT_WAIT_S: Final = 10.0
_CONNECT_TIMEOUT_S: Final = 5
_POOL_SIZE: Final = 10
_URL_HINT: Final = "Give sqlite:///FOLDER/server.sqlite or postgresql://USER:PASSWORD@HOST/NAME."

_KEEPALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Settings of libpq that end a connection within seconds when the server's machine vanishes without a word."""


class Database:
    """Connections to the database. Thread-safe.

    After an outage it works again by itself: broken connections are replaced when they are next used.

    Args:
        url: URL as of SQLAlchemy: ``sqlite:///FOLDER/server.sqlite`` or ``postgresql://USER:PASSWORD@HOST/NAME``.
        wait_s: Seconds to wait for a lock that another transaction holds, or for a free connection.

    Raises:
        ConfigurationError: The URL is invalid, or its driver is missing.
    """

    def __init__(self, url: str, *, wait_s: float = DEFAULT_WAIT_S) -> None:
        self.url = _parse_url(url)
        self._file: SqliteFile | None = None
        if self.is_sqlite:
            self._file = SqliteFile(Path(self.url.database or ""))
            self.engine = _create_sqlite_engine(self.url, self._file, wait_s)
        else:
            self.engine = _create_postgres_engine(self.url, wait_s)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        self._readers = sessionmaker(self.engine.execution_options(**{BEGIN_OPTION: "BEGIN"}), expire_on_commit=False)

    @property
    def is_sqlite(self) -> bool:
        """Return whether it is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path | None:
        """File of the database on SQLite; None on PostgreSQL."""
        return None if self._file is None else self._file.path

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
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # its text may hold the password
        raise ConfigurationError("the database URL is invalid", hint=_URL_HINT) from None
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise ConfigurationError(f"the database {backend!r} is not supported", hint=_URL_HINT)
    if backend == "sqlite" and (parsed.database or ":memory:").startswith((":memory:", "file:")):
        raise ConfigurationError("the database URL names no file", hint=_URL_HINT)
    return parsed if backend == "sqlite" else parsed.set(drivername="postgresql+psycopg")


def _create_sqlite_engine(url: URL, file: SqliteFile, wait_s: float) -> Engine:
    engine = create_engine(
        url,
        connect_args={"timeout": wait_s, "check_same_thread": False},
        pool_size=_POOL_SIZE,
        pool_timeout=wait_s,
    )
    file.listen(engine)
    return engine


def _create_postgres_engine(url: URL, wait_s: float) -> Engine:
    try:
        engine = create_engine(
            url,
            pool_pre_ping=True,
            pool_size=_POOL_SIZE,
            max_overflow=_POOL_SIZE,
            pool_timeout=wait_s,
            connect_args={"connect_timeout": _CONNECT_TIMEOUT_S, **_KEEPALIVE},
        )
    except (NoSuchModuleError, ImportError) as error:
        message = "the driver of PostgreSQL is not installed"
        raise ConfigurationError(message, hint="pip install 'coderag-engine[server,postgres]'") from error

    @event.listens_for(engine, "begin")
    def limit_waits(connection: Connection) -> None:
        # For this transaction only, so that it holds behind a pooler of transactions, too.
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(wait_s * 1_000))}")

    return engine
