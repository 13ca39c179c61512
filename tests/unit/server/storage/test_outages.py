"""A database that is away: requests fail as an outage, nothing is lost, and it works again by itself."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from coderag.errors import ConfigurationError, DatabaseUnavailableError
from coderag.server.storage.database import Database
from coderag.server.storage.models import Team
from coderag.server.storage.upgrade import check_revision, upgrade
from coderag.system.subprocesses import build_python_command, build_python_environment
from tests.support.server_rows import insert_rows, read_rows


@pytest.fixture
def open_database():
    opened = []

    def open_it(url, **options):
        opened.append(Database(url, **options))
        return opened[-1]

    yield open_it
    for database in opened:
        database.close()


@pytest.fixture
def path(tmp_path, open_database):
    path = tmp_path / "server.sqlite"
    upgrade(open_database(f"sqlite:///{path}"))
    return path


def add_team(database, name):
    with database.begin() as session:
        session.add(Team(name=name))


def list_teams(database):
    with database.read() as session:
        return sorted(session.scalars(select(Team.name)))


@contextmanager
def writing(path):
    """Hold the write lock."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("ROLLBACK")
    connection.close()


def test_locked_file_refuses_writers_and_serves_readers(path, open_database, caplog):
    database = open_database(f"sqlite:///{path}", wait_s=0.1)
    add_team(database, "before")
    with writing(path):
        with pytest.raises(DatabaseUnavailableError, match="the database is busy"):
            add_team(database, "refused")
        assert list_teams(database) == ["before"]
        assert "database is locked" in caplog.text
    add_team(database, "after")
    assert list_teams(database) == ["after", "before"]


def test_writer_waits_for_a_short_lock(path, open_database):
    database = open_database(f"sqlite:///{path}", wait_s=60)
    list_teams(database)
    with writing(path):
        thread = threading.Thread(target=add_team, args=(database, "patient"))
        thread.start()
    thread.join(60)
    assert list_teams(database) == ["patient"]


def test_file_that_is_removed_is_an_outage_until_it_is_back(path, open_database, tmp_path):
    database = open_database(f"sqlite:///{path}")
    add_team(database, "before")
    path.rename(tmp_path / "away")
    for use in (list_teams, lambda it: add_team(it, "lost"), Database.check):
        with pytest.raises(DatabaseUnavailableError, match="does not answer"):
            use(database)
    assert not path.exists()
    (tmp_path / "away").rename(path)
    add_team(database, "after")
    assert list_teams(database) == ["after", "before"]


def test_file_that_is_replaced_is_used_from_then_on(path, open_database, tmp_path):
    database = open_database(f"sqlite:///{path}")
    add_team(database, "old")
    other = open_database(f"sqlite:///{tmp_path / 'other.sqlite'}")
    upgrade(other)
    add_team(other, "new")
    other.close()
    database.close()  # its journal is written back, as the new file must not meet it
    (tmp_path / "other.sqlite").replace(path)
    assert list_teams(database) == ["new"]


def test_transaction_is_refused_whose_file_is_removed_meanwhile(path, open_database, tmp_path):
    database = open_database(f"sqlite:///{path}")
    with pytest.raises(DatabaseUnavailableError), database.begin() as session:
        session.add(Team(name="lost"))
        session.flush()
        path.rename(tmp_path / "away")
    (tmp_path / "away").rename(path)
    assert list_teams(database) == []


def test_full_disk_refuses_the_write_and_keeps_what_was_there(path, open_database):
    database = open_database(f"sqlite:///{path}")
    with database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    add_team(database, "before")
    database.close()

    event.listen(
        database.engine, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    )
    with pytest.raises(DatabaseUnavailableError, match="the disk of the database is full"):
        for number in range(1_000):
            add_team(database, f"{number}" + "x" * 190)
    kept = list_teams(database)
    assert "before" in kept
    assert 1 <= len(kept) < 1_000


FULL_DISK = """
import resource, signal, sys
from sqlalchemy import select
from coderag.errors import DatabaseUnavailableError
from coderag.server.storage.database import Database
from coderag.server.storage.models import Team

database = Database(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
taken = []
try:
    for number in range(10_000):
        with database.begin() as session:
            session.add(Team(name=f"{number:05}" + "x" * 190))
        taken.append(number)
except DatabaseUnavailableError as error:
    print("refused:", error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with database.begin() as session:
    session.add(Team(name="after"))
with database.read() as session:
    names = sorted(session.scalars(select(Team.name)))
assert names == [*(f"{number:05}" + "x" * 190 for number in taken), "after"], (len(names), len(taken))
print("nothing lost")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_writes_that_the_system_refuses_lose_nothing_and_work_again(path):
    command = [*build_python_command(FULL_DISK), f"sqlite:///{path}"]
    finished = subprocess.run(command, env=build_python_environment(), capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    first, last = finished.stdout.splitlines()
    assert first.startswith("refused: the d")
    assert last == "nothing lost"


def test_damaged_file_is_an_outage(path, open_database):
    database = open_database(f"sqlite:///{path}")
    database.close()
    path.write_bytes(b"no database at all" * 1_000)
    with pytest.raises(DatabaseUnavailableError):
        list_teams(database)


def test_folder_that_is_missing_is_an_outage(tmp_path, open_database):
    with pytest.raises(DatabaseUnavailableError):
        open_database(f"sqlite:///{tmp_path / 'none/server.sqlite'}").check()


def test_bad_statement_is_no_outage(database_url, open_database):
    database = open_database(database_url)
    upgrade(database)
    for statement in ("SELECT * FROM nowhere", "SELEKT 1"):
        with pytest.raises(SQLAlchemyError), database.read() as session:
            session.execute(text(statement))
    with pytest.raises(IntegrityError), database.begin() as session:
        session.add_all([Team(name="a"), Team(name="a")])
    add_team(database, "a")


def test_postgres_away_for_a_while(postgres_server, postgres_url, open_database, caplog):
    database = open_database(postgres_url)
    upgrade(database)
    insert_rows(database)
    rows = read_rows(database)
    with postgres_server.stopped():
        for _ in range(3):
            with pytest.raises(DatabaseUnavailableError, match="the database does not answer") as caught:
                read_rows(database)
        assert str(postgres_server.port) not in str(caught.value)
        with pytest.raises(DatabaseUnavailableError):
            add_team(database, "refused")
        with pytest.raises(DatabaseUnavailableError):
            check_revision(database)
    assert str(postgres_server.port) in caplog.text
    assert read_rows(database) == rows
    check_revision(database)
    add_team(database, "after")


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_postgres_that_goes_away_in_a_transaction_keeps_none_of_it(postgres_server, postgres_url, open_database, end):
    database = open_database(postgres_url)
    upgrade(database)
    with pytest.raises(DatabaseUnavailableError), database.begin() as session:
        session.add(Team(name="half"))
        session.flush()
        getattr(postgres_server, end)()
        session.add(Team(name="other half"))
        session.flush()
    postgres_server.start()
    assert list_teams(database) == []
    add_team(database, "after")


def test_all_threads_recover_from_ended_connections(postgres_server, postgres_url, open_database):
    database = open_database(postgres_url)
    upgrade(database)
    barrier, failures = threading.Barrier(8), []

    def work(number):
        try:
            with database.read() as session:
                session.execute(text("SELECT 1"))
                barrier.wait(60)
            barrier.wait(60)
            add_team(database, f"team {number}")
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(7)]
    for thread in threads:
        thread.start()
    barrier.wait(60)
    postgres_server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test_%'")
    barrier.wait(60)
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(list_teams(database)) == 7


def test_row_lock_of_another_process_is_waited_for_and_then_refused(postgres_url, open_database):
    patient, hasty = open_database(postgres_url), open_database(postgres_url, wait_s=0.2)
    upgrade(patient)
    add_team(patient, "core")
    with patient.begin() as session:
        session.execute(text("SELECT * FROM teams FOR UPDATE"))
        with pytest.raises(DatabaseUnavailableError, match="the database is busy"), hasty.begin() as other:
            other.execute(text("UPDATE teams SET name = 'other'"))
    assert list_teams(hasty) == ["core"]


def test_pool_without_a_free_connection_is_an_outage(database_url, open_database):
    database = open_database(database_url, wait_s=0.1)
    upgrade(database)
    size = database.engine.pool.size() + database.engine.pool._max_overflow
    sessions = [database.read() for _ in range(size)]
    for session in sessions:
        session.__enter__().execute(text("SELECT 1"))
    with pytest.raises(DatabaseUnavailableError, match="busy"):
        list_teams(database)
    for session in sessions:
        session.__exit__(None, None, None)
    assert list_teams(database) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "is invalid"),
        ("no url", "is invalid"),
        ("postgresql://u:hunter2@host:hunter2/name", "is invalid"),
        ("mysql://host/name", "'mysql' is not supported"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///file:x?mode=memory&uri=true", "names no file"),
    ],
)
def test_url_that_cannot_be_used_is_a_configuration_error(url, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        Database(url)
    assert "hunter2" not in f"{caught.value}{caught.value.__cause__}"
    assert "sqlite:///FOLDER" in caught.value.hint


def test_wrong_password_reaches_neither_error_nor_log(postgres_url, open_database, caplog):
    url = postgres_url.replace("coderag@", "coderag:hunter2@").replace("/test_", "/none_")
    with pytest.raises(DatabaseUnavailableError) as caught:
        open_database(url).check()
    assert "does not exist" in caplog.text
    assert "hunter2" not in f"{caught.value}{caplog.text}"
