"""Revisions of the server's tables: up and down with rows, from every state that a database may be in."""

import logging
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError

from coderag.errors import ConfigurationError, DatabaseUnavailableError, ServerError
from coderag.server.storage import upgrade as upgrades
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable
from coderag.server.storage.upgrade import (
    BASE,
    VERSION_TABLE,
    check_revision,
    downgrade,
    get_newest_revision,
    get_revision,
    load_scripts,
    upgrade,
)
from tests.support.server_rows import insert_rows, read_rows

pytestmark = pytest.mark.filterwarnings("ignore:Skipped unsupported reflection")


@pytest.fixture
def database(database_url):
    database = Database(database_url)
    yield database
    database.close()


def list_tables(database):
    with database.engine.connect() as connection:
        return set(inspect(connection).get_table_names())


def test_models_and_newest_revision_do_not_differ(database):
    upgrade(database)
    with database.engine.connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, ServerTable.metadata) == []


def test_revisions_are_one_line_without_branches():
    scripts = load_scripts()
    assert scripts.get_bases() == ["0001"]
    assert len(scripts.get_heads()) == 1
    assert all(len(script.nextrev) <= 1 for script in scripts.walk_revisions())


def test_every_revision_goes_up_down_and_up_again(database):
    steps = [script.revision for script in reversed(list(load_scripts().walk_revisions()))]
    for revision in steps:
        assert upgrade(database, revision) == revision
    insert_rows(database)
    rows = read_rows(database)
    assert all(rows.values())
    for previous in [*reversed(steps[:-1]), BASE]:
        assert downgrade(database, previous) == previous
    assert list_tables(database) == {VERSION_TABLE}
    upgrade(database)
    insert_rows(database)
    assert read_rows(database).keys() == rows.keys()


def test_upgrade_of_the_newest_revision_changes_nothing(database):
    upgrade(database)
    insert_rows(database)
    rows = read_rows(database)
    assert upgrade(database) == get_newest_revision() == get_revision(database)
    assert read_rows(database) == rows


def test_revision_that_copies_a_table_keeps_the_rows_that_refer_to_it(database, monkeypatch, tmp_path):
    upgrade(database)
    insert_rows(database)
    rows = read_rows(database)
    add_revision(
        monkeypatch,
        tmp_path,
        'with op.batch_alter_table("users") as users:\n'
        '        users.alter_column("name", type_=sa.String(300), existing_type=sa.String(200), existing_nullable=False)',
    )
    assert upgrade(database) == "9999"
    assert read_rows(database) == rows
    with pytest.raises(IntegrityError), database.begin() as session:  # references are enforced again
        session.execute(text("INSERT INTO memberships VALUES ('t1', 'nobody', false)"))


def test_failed_revision_changes_nothing(database, monkeypatch, tmp_path):
    upgrade(database)
    insert_rows(database)
    rows, tables = read_rows(database), list_tables(database)
    before = get_revision(database)
    add_revision(
        monkeypatch,
        tmp_path,
        'op.create_table("extra", sa.Column("id", sa.Integer()))\n    op.execute("DELETE FROM teams")\n    1 / 0',
    )
    with pytest.raises(ZeroDivisionError):
        upgrade(database)
    assert (read_rows(database), list_tables(database), get_revision(database)) == (rows, tables, before)


def test_revision_that_breaks_references_is_refused(tmp_path, monkeypatch):
    database = Database(f"sqlite:///{tmp_path / 'server.sqlite'}")
    upgrade(database)
    insert_rows(database)
    rows = read_rows(database)
    add_revision(monkeypatch, tmp_path, 'op.execute("DELETE FROM users")')
    with pytest.raises(ServerError, match="refer to rows of users"):
        upgrade(database)
    assert read_rows(database) == rows
    database.close()


def add_revision(monkeypatch, tmp_path, code):
    """Add a revision after the newest one, for this test only."""
    newest = get_newest_revision()
    folder = tmp_path / "versions"
    folder.mkdir()
    (folder / "r9999.py").write_text(
        f"import sqlalchemy as sa\nfrom alembic import op\nrevision = '9999'\ndown_revision = {newest!r}\n"
        f"def upgrade():\n    {code}\n",
        encoding="utf-8",
    )
    create_config = upgrades.create_config
    shipped = Path(upgrades.__file__).parent / "migrations/versions"

    def create_longer_config(connection=None):
        config = create_config(connection)
        config.set_main_option("version_locations", f"{shipped}:{folder}")
        return config

    monkeypatch.setattr(upgrades, "create_config", create_longer_config)


def test_database_without_tables_asks_for_init(database):
    assert get_revision(database) is None
    with pytest.raises(ConfigurationError, match="no tables") as caught:
        check_revision(database)
    assert "coderag server init" in caught.value.hint


def test_check_creates_no_file(tmp_path):
    path = tmp_path / "server.sqlite"
    with pytest.raises(ConfigurationError):
        check_revision(Database(f"sqlite:///{path}"))
    assert not path.exists()


def test_older_database_asks_for_upgrade(database, monkeypatch, tmp_path):
    upgrade(database)
    check_revision(database)
    add_revision(monkeypatch, tmp_path, "pass")
    with pytest.raises(ConfigurationError, match="needs 9999") as caught:
        check_revision(database)
    assert caught.value.hint == "Run `coderag server upgrade`."


@pytest.mark.parametrize("change", [upgrade, check_revision, lambda database: downgrade(database, BASE)])
def test_database_of_a_newer_version_is_left_alone(database, change):
    upgrade(database)
    insert_rows(database)
    rows = read_rows(database)
    with database.begin() as session:
        session.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = 'f00d'"))
    with pytest.raises(ConfigurationError, match="f00d, which this version of CodeRAG does not know"):
        change(database)
    assert read_rows(database) == rows


def test_database_of_another_program_is_left_alone(database):
    with database.begin() as session:
        session.execute(text("CREATE TABLE users (id INTEGER)"))
    for change in (upgrade, check_revision):
        with pytest.raises(ConfigurationError, match="tables without a revision: users"):
            change(database)
    assert list_tables(database) == {"users"}


@pytest.mark.parametrize("revision", ["nope", "+1", "0042"])
def test_unknown_revision_is_named_with_the_known_ones(database, revision):
    upgrade(database)
    with pytest.raises(ConfigurationError, match="unknown, or not on the way") as caught:
        downgrade(database, revision)
    assert "base, 0001" in caught.value.hint


def test_new_folder_and_file_are_created_for_this_user_only(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'a/b c%20#?/server.sqlite'}".replace("?", "%3F"))
    upgrade(database)
    assert database.path.stat().st_mode & 0o777 == 0o600
    database.close()


def test_folder_that_cannot_be_created_is_a_configuration_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be created"):
        upgrade(Database(f"sqlite:///{tmp_path / 'file/server.sqlite'}"))


def test_many_connections_open_a_new_file_at_once(tmp_path):
    """SQLite refuses the change to its write-ahead log at once, without waiting, while another connection does the same."""
    failures = []

    def check(path):
        database = Database(f"sqlite:///{path}")
        try:
            database.check()
        except DatabaseUnavailableError as error:
            failures.append(error)
        finally:
            database.close()

    for number in range(20):
        threads = [threading.Thread(target=check, args=(tmp_path / f"{number}.sqlite",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_upgrade_says_nothing_above_info(database, caplog):
    with caplog.at_level(logging.WARNING):
        upgrade(database)
    assert caplog.records == []
