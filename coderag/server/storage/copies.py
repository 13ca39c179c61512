"""Copies of the database: SQLite by its backup interface, PostgreSQL by `pg_dump` and `pg_restore`."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, NullPool, create_engine, inspect, select, text

from coderag.errors import ConfigurationError, DatabaseUnavailableError, ServerError
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository
from coderag.server.storage.outages import translate_errors
from coderag.server.storage.upgrade import VERSION_TABLE, read_revision

_CONNECT_TIMEOUT_S: Final = 10
_MAX_ERROR_CHARS: Final = 500
_NO_ACCOUNTS: Final = ("--no-owner", "--no-privileges")
"""Options without which only accounts of the same names could load a copy."""

_REPOSITORIES: Final = select(
    HostedRepository.id,
    HostedRepository.name,
    HostedRepository.url,
    HostedRepository.branch,
    HostedRepository.commit,
).order_by(HostedRepository.name)
"""Columns that every revision has."""


class DatabaseCopy:
    """A consistent copy of the database as a file.

    Attributes:
        revision: Revision of its tables; None if there are none.
        repositories: Repositories in it.
    """

    def __init__(self, connection: Connection) -> None:
        self.revision = read_revision(connection)
        self.repositories: list[dict[str, Any]] = []
        if self.revision is not None:
            self.repositories = [{**row} for row in connection.execute(_REPOSITORIES).mappings()]


def copy_database(database: Database, target: Path) -> DatabaseCopy:
    """Copy the database, as of one moment, while others read and write it.

    Raises:
        ConfigurationError: `pg_dump` is not installed.
        DatabaseUnavailableError: The database does not answer.
        ServerError: The database is damaged, or `pg_dump` failed.
    """
    if database.path is None:
        return _dump_postgres(database, target)
    _copy_sqlite(database.path, target)
    return _describe_sqlite(target)


def load_database(database: Database, source: Path) -> None:
    """Load a copy into an empty database on PostgreSQL, all of it or nothing.

    Raises:
        ConfigurationError: `pg_restore` is not installed, or the database has tables.
        DatabaseUnavailableError: The database does not answer.
        ServerError: `pg_restore` failed.
    """
    require_empty(database)
    _run_program("pg_restore", database, ["--exit-on-error", "--single-transaction", *_NO_ACCOUNTS, str(source)])


def require_empty(database: Database) -> None:
    """Check that a database has no tables.

    Raises:
        ConfigurationError: It has some.
        DatabaseUnavailableError: The database does not answer.
    """
    with database.read() as session:
        names = sorted(set(inspect(session.connection()).get_table_names()) - {VERSION_TABLE})
    if names:
        message = f"the database is not empty: it has the tables {', '.join(names[:5])}"
        raise ConfigurationError(message, hint="Restore into a new database.")


def _copy_sqlite(source: Path, target: Path) -> None:
    if not source.exists():
        raise ConfigurationError(f"{source}: no such database", hint="Run `coderag server init`.")
    target.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True)) as original,
            closing(sqlite3.connect(target, isolation_level=None)) as copy,
        ):
            original.backup(copy)  # all pages in one step: writers wait for nothing, and it never starts again
            copy.execute("PRAGMA journal_mode = DELETE")  # one file
            (problem,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        raise ServerError(f"{source}: cannot be copied: {error}", hint="Free space, or repair the database.") from error
    if problem != "ok":
        raise ServerError(f"{source}: is damaged: {problem}", hint="Restore the last good backup.")


def _describe_sqlite(path: Path) -> DatabaseCopy:
    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool)
    with engine.connect() as connection:
        return DatabaseCopy(connection)


def _dump_postgres(database: Database, target: Path) -> DatabaseCopy:
    engine = database.engine.execution_options(isolation_level="REPEATABLE READ")
    with translate_errors(), engine.connect() as connection:
        snapshot = connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()
        description = DatabaseCopy(connection)
        # Without its revision, a copy that is loaded is no database of a server before the restore has finished.
        options = [f"--snapshot={snapshot}", f"--exclude-table-data={VERSION_TABLE}", f"--file={target}"]
        _run_program("pg_dump", database, ["--format=custom", "--compress=0", *_NO_ACCOUNTS, *options])
    return description


def _run_program(name: str, database: Database, arguments: list[str]) -> None:
    """Run a program of PostgreSQL. The password goes by its environment, as other users see its arguments."""
    program = shutil.which(name)
    if program is None:
        hint = "Install the client programs of PostgreSQL, in the version of the server or a newer one."
        raise ConfigurationError(f"{name} is not installed", hint=hint)
    url = database.url.set(drivername="postgresql").difference_update_query(["password"])
    url = url._replace(password=None)
    environment = {**os.environ, "PGCONNECT_TIMEOUT": str(_CONNECT_TIMEOUT_S), "LC_ALL": "C"}
    password = database.url.password or database.url.query.get("password")
    if isinstance(password, str) and password:
        environment["PGPASSWORD"] = password
    command = [program, "--no-password", f"--dbname={url.render_as_string(hide_password=False)}", *arguments]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if finished.returncode:
        reason = " ".join(finished.stderr.split())[:_MAX_ERROR_CHARS]
        if "connection to server" in reason:
            raise DatabaseUnavailableError("the database does not answer", hint="Try again in a moment.")
        hint = "The client programs must be of the server's version or newer." if "version mismatch" in reason else ""
        raise ServerError(f"{name} failed: {reason}", hint=hint)
