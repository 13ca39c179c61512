"""Processes that change the tables of one database at the same time, and ones that are killed while they do."""

import subprocess
import time

import pytest

from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import BASE, check_revision, downgrade, get_newest_revision, get_revision, upgrade
from coderag.system.subprocesses import build_python_command, build_python_environment
from tests.support.server_rows import insert_rows, read_rows

_PROCESSES = 6

UPGRADE = """
import sys
from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import upgrade
sys.stdin.readline()
print(upgrade(Database(sys.argv[1])))
"""

STALL = """
import sys, time
from sqlalchemy import event
from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import upgrade
database = Database(sys.argv[1])

@event.listens_for(database.engine, "before_cursor_execute")
def stall(connection, cursor, statement, *rest):
    if "CREATE TABLE grants" in statement:
        print("half-way", flush=True)
        sys.stdin.readline()

upgrade(database)
print("done")
"""


def start(code, url):
    return subprocess.Popen(
        [*build_python_command(code), url],
        env=build_python_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def database(database_url):
    database = Database(database_url)
    yield database
    database.close()


def test_all_of_several_processes_succeed(database, database_url):
    processes = [start(UPGRADE, database_url) for _ in range(_PROCESSES)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    outcomes = [(process.communicate(timeout=120), process.returncode) for process in processes]
    assert [(code, out.strip()) for (out, _), code in outcomes] == [(0, get_newest_revision())] * _PROCESSES, outcomes
    check_revision(database)
    insert_rows(database)


def test_process_waits_for_a_slow_one_and_both_succeed(database, database_url):
    slow = start(STALL, database_url)
    assert slow.stdout.readline() == "half-way\n"
    waiting = start(UPGRADE, database_url)
    waiting.stdin.write("go\n")
    waiting.stdin.flush()
    time.sleep(1)
    assert waiting.poll() is None
    slow.stdin.write("go on\n")
    slow.stdin.flush()
    assert slow.communicate(timeout=60)[0] == "done\n"
    assert waiting.communicate(timeout=60)[0].strip() == get_newest_revision()
    insert_rows(database)


def test_killed_half_way_nothing_has_changed_and_the_next_one_succeeds(database, database_url):
    process = start(STALL, database_url)
    assert process.stdout.readline() == "half-way\n"
    process.kill()
    process.communicate()
    assert get_revision(database) is None
    upgrade(database)
    insert_rows(database)


def test_killed_on_the_way_back_keeps_all_rows(database, database_url):
    upgrade(database)
    insert_rows(database)
    rows = read_rows(database)
    back = STALL.replace("CREATE TABLE grants", "DROP TABLE users").replace(
        "upgrade(database)", "downgrade(database, 'base')"
    )
    process = start(back.replace("import upgrade", "import downgrade"), database_url)
    assert process.stdout.readline() == "half-way\n"
    process.kill()
    process.communicate()
    assert read_rows(database) == rows
    assert downgrade(database, BASE) == BASE
