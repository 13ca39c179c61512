"""Killed writers and a killed database: what was confirmed is there, and nothing is there by half."""

import os
import random
import subprocess
import time

import pytest
from sqlalchemy import select

from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, Team, User
from coderag.server.storage.upgrade import upgrade
from coderag.system.subprocesses import build_python_command, build_python_environment

_ROUNDS = int(os.environ.get("CODERAG_TEST_KILLS", "4"))

WRITE = """
import sys, time
from coderag.errors import DatabaseUnavailableError
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, Team

database = Database(sys.argv[1])
number = int(sys.argv[2])
while True:
    number += 1
    try:
        with database.begin() as session:
            session.add(Team(name=str(number)))
            session.flush()
            session.add(ApiKey(user_id="u1", name=str(number), prefix=str(number), digest="", scopes=[]))
    except DatabaseUnavailableError:
        print("away", flush=True)
        time.sleep(0.05)
    else:
        print(number, flush=True)
"""


def start_writer(url, number):
    return subprocess.Popen(
        [*build_python_command(WRITE), url, str(number)],
        env=build_python_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a line of the log for each refusal, which nobody reads
        text=True,
    )


@pytest.fixture
def database(database_url):
    database = Database(database_url)
    upgrade(database)
    with database.begin() as session:
        session.add(User(id="u1", name="Ada", role="owner"))
    yield database
    database.close()


def read_numbers(database):
    """Return the numbers that were written; both rows of a transaction are there, or none."""
    with database.read() as session:
        teams = set(map(int, session.scalars(select(Team.name))))
        keys = set(map(int, session.scalars(select(ApiKey.name))))
    assert teams == keys
    return teams


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_was_confirmed(database, database_url):
    confirmed, chance = set(), random.Random(7)
    for round_ in range(_ROUNDS):
        process = start_writer(database_url, round_ * 1_000_000)
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        confirmed |= {
            int(line) for line in [first, *process.communicate()[0].splitlines(keepends=True)] if "\n" in line
        }
        assert confirmed <= read_numbers(database)
    assert len(confirmed) >= _ROUNDS


@pytest.mark.slow
def test_killed_database_loses_nothing_that_was_confirmed(postgres_server, postgres_url):
    database = Database(postgres_url)
    upgrade(database)
    with database.begin() as session:
        session.add(User(id="u1", name="Ada", role="owner"))
    process = start_writer(postgres_url, 0)
    lines = [process.stdout.readline()]
    for _ in range(_ROUNDS // 2):
        postgres_server.kill()
        while (line := process.stdout.readline()) != "away\n":
            lines.append(line)
        postgres_server.start()
        while (line := process.stdout.readline()) == "away\n":  # it goes on by itself
            pass
        lines.append(line)
    process.kill()
    rest = process.communicate()[0].splitlines(keepends=True)
    confirmed = {int(line) for line in [*lines, *rest] if line.endswith("\n") and line != "away\n"}
    assert confirmed <= read_numbers(database)
    assert len(confirmed) > _ROUNDS // 2
    database.close()
