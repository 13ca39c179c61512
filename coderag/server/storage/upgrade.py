"""Revisions of the tables: to the newest one, back, and the check that a server starts with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, inspect, text
from sqlalchemy.orm import Session

from coderag.errors import ConfigurationError, ServerError
from coderag.server.storage.database import Database
from coderag.server.storage.outages import translate_errors

VERSION_TABLE: Final = "coderag_revision"
"""Table with the revision of a database."""

BASE: Final = "base"
"""Revision of a database without tables."""

_FOLDER: Final = Path(__file__).parent / "migrations"
_LOCK_KEY: Final = int.from_bytes(b"coderag", "big")
"""Key of PostgreSQL's advisory lock."""

_LOCK_TIMEOUT_S: Final = 600
"""Seconds to wait for another process that changes the tables."""


def upgrade(database: Database, revision: str = "heads") -> str:
    """Change the tables to a revision, by default the newest one, in one transaction.

    Of several processes one does it, and the others wait for it. Killed half-way, nothing has changed.

    Returns:
        The revision.

    Raises:
        ConfigurationError: The database was made by a newer version, or has tables of another program.
        DatabaseUnavailableError: The database does not answer.
    """
    if database.path is not None:
        _create_folder(database.path.parent)
    scripts = load_scripts()
    with _lock(database) as connection:
        current = read_revision(connection)
        _require_known(scripts, current)
        if current is None:
            _require_no_tables(connection)
        with _explain_errors(scripts, revision):
            command.upgrade(create_config(connection), revision)
        return read_revision(connection) or BASE


def downgrade(database: Database, revision: str) -> str:
    """Change the tables back to an earlier revision. What only the later ones have room for is deleted.

    Args:
        database: The database.
        revision: Identifier of a revision; `BASE` removes all tables.

    Returns:
        The revision.

    Raises:
        ConfigurationError: The revision is unknown, or none of the earlier ones.
        DatabaseUnavailableError: The database does not answer.
    """
    scripts = load_scripts()
    with _lock(database) as connection:
        _require_known(scripts, read_revision(connection))
        with _explain_errors(scripts, revision):
            command.downgrade(create_config(connection), revision)
        return read_revision(connection) or BASE


def complete_copy(database: Database, revision: str, finish: Callable[[Session], None]) -> None:
    """Make a loaded copy a database of a server, in one transaction: set its revision, upgrade it, finish it.

    Args:
        database: The copy.
        revision: Revision that it was made at.
        finish: Last changes, at the newest revision.

    Raises:
        ConfigurationError: A newer version made the copy.
        DatabaseUnavailableError: The database does not answer.
    """
    _require_known(load_scripts(), revision)
    with _lock(database) as connection:
        config = create_config(connection)
        command.stamp(config, revision, purge=True)
        command.upgrade(config, "heads")
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            finish(session)
            session.commit()


def get_revision(database: Database) -> str | None:
    """Return the revision of a database; None for one without tables.

    Raises:
        DatabaseUnavailableError: The database does not answer.
    """
    if database.path is not None and not database.path.exists():
        return None  # a look must not create it
    with database.read() as session:
        return read_revision(session.connection())


def get_newest_revision() -> str:
    """Return the revision that this version of CodeRAG works with."""
    return load_scripts().get_current_head() or BASE


def check_revision(database: Database) -> None:
    """Check that the tables have the revision that this version works with.

    Raises:
        ConfigurationError: They have another one, or there are none.
        DatabaseUnavailableError: The database does not answer.
    """
    revision = get_revision(database)
    if revision is None:
        if database.path is None or database.path.exists():
            with database.read() as session:
                _require_no_tables(session.connection())
        raise ConfigurationError("the database has no tables yet", hint="Run `coderag server init`.")
    scripts = load_scripts()
    _require_known(scripts, revision)
    if revision != scripts.get_current_head():
        message = f"the database has revision {revision}, and this version needs {scripts.get_current_head()}"
        raise ConfigurationError(message, hint="Run `coderag server upgrade`.")


def require_known_revision(revision: str) -> None:
    """Check that this version knows a revision.

    Raises:
        ConfigurationError: A newer version made it.
    """
    _require_known(load_scripts(), revision)


def load_scripts() -> ScriptDirectory:
    """Load the revisions."""
    return ScriptDirectory.from_config(create_config())


def create_config(connection: Connection | None = None) -> Config:
    """Create Alembic's configuration, with the connection that the revisions are run on."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("file_template", "r%%(rev)s_%%(slug)s")
    return config


def read_revision(connection: Connection) -> str | None:
    """Read the revision of a database; None for one without tables."""
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()


@contextmanager
def _lock(database: Database) -> Iterator[Connection]:
    """Open a transaction that excludes other changes of the tables, and commit it at the end."""
    with translate_errors(), database.engine.connect() as connection:
        connection.detach()  # its settings must not go back to the pool
        if database.is_sqlite:
            _execute_raw(connection, f"PRAGMA busy_timeout = {_LOCK_TIMEOUT_S * 1_000}")
            # A table is altered by a copy; dropping the old one would remove all rows that refer to it.
            _execute_raw(connection, "PRAGMA foreign_keys = OFF")
        with connection.begin():
            if not database.is_sqlite:
                connection.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT_S}s'"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
            yield connection
            if database.is_sqlite:
                _require_references(connection)


def _execute_raw(connection: Connection, statement: str) -> None:
    """Run a statement outside of transactions, where alone SQLite accepts such settings."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement)
    finally:
        cursor.close()


@contextmanager
def _explain_errors(scripts: ScriptDirectory, revision: str) -> Iterator[None]:
    try:
        yield
    except CommandError as error:
        message = f"the revision {revision!r} is unknown, or not on the way"
        raise ConfigurationError(message, hint=f"This version knows {_list_revisions(scripts)}.") from error


def _list_revisions(scripts: ScriptDirectory) -> str:
    return ", ".join([BASE, *(script.revision for script in reversed(list(scripts.walk_revisions())))])


def _require_known(scripts: ScriptDirectory, revision: str | None) -> None:
    if revision is None or revision in {script.revision for script in scripts.walk_revisions()}:
        return
    message = f"the database has revision {revision}, which this version of CodeRAG does not know"
    raise ConfigurationError(message, hint="Install the newer version that changed it.")


def _require_no_tables(connection: Connection) -> None:
    names = sorted(set(inspect(connection).get_table_names()) - {VERSION_TABLE})
    if names:
        message = f"the database has tables without a revision: {', '.join(names[:5])}"
        hint = "Another program made them, or a restore was cut short: give CodeRAG an empty database."
        raise ConfigurationError(message, hint=hint)


def _require_references(connection: Connection) -> None:
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise ServerError(f"rows of {broken[0]} refer to rows of {broken[2]} that are gone; nothing was changed")


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{folder}: cannot be created: {error.strerror or error}") from error
