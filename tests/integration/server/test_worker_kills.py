"""Workers that are killed at random moments while they claim, fetch, check out and index: nothing is lost, nothing is half."""

import multiprocessing
import os
import random
import sys
import time
from pathlib import Path

import pytest

from coderag.server.storage.models import ServerTable
from tests.support.git_http_server import GitHttpServer
from tests.support.git_origins import GitOrigin, read_files
from tests.support.postgres_process import open_postgres
from tests.support.server_worker import MANIFEST, build_commit, check_checkout, open_world, run_worker

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")]

KILLS = int(os.environ.get("CODERAG_TEST_KILLS", "3"))  # on each of two databases
REPOSITORIES = 5


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    with open_postgres(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture(scope="module")
def context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.server_worker"])
    return context


def start_worker(context, folder, url):
    ready = context.Event()
    process = context.Process(target=run_worker, args=(folder, url, ready), daemon=True)
    process.start()
    assert ready.wait(60)
    return process


def wait_until_idle(world):
    """Wait until no job is left; jobs that failed are tried again at once."""
    end = time.monotonic() + 120
    while sum(world.queue.count().values()):
        assert [path.read_text() for path in world.folder.glob("violation-*")] == []
        assert time.monotonic() < end, [(job.state, job.attempts, job.error) for job in world.queue.list(None)][:5]
        time.sleep(0.1)


def test_kills_lose_no_push_and_leave_no_half_checkout(tmp_path, url, context):
    chance = random.Random(7)
    (tmp_path / "origins").mkdir()
    folder = tmp_path / "server"
    with GitHttpServer(tmp_path / "origins") as git:
        git.pause_s = 0.001
        origins = [GitOrigin(tmp_path / "origins", f"r{number}.git") for number in range(REPOSITORIES)]
        world = open_world(folder, url)
        teams = [world.add_team(name) for name in ("a", "b")]
        pushed = {}
        repositories = []
        for number, origin in enumerate(origins):
            origin.replace_all(build_commit(0, chance.randbytes(300_000)))
            repository = world.repositories.add(f"r{number}", git.url(f"r{number}.git"), team_id=teams[number % 2])
            repositories.append(repository.id)
            pushed[repository.id] = 0
        for kill in range(1, KILLS + 1):
            process = start_worker(context, folder, url)
            index = chance.randrange(REPOSITORIES)
            origins[index].replace_all(build_commit(kill, chance.randbytes(300_000)))
            pushed[repositories[index]] = kill
            world.queue.submit(repositories[index], "push")
            time.sleep(chance.random() * 0.8)
            process.kill()
            process.join()
        git.pause_s = 0
        process = start_worker(context, folder, url)
        wait_until_idle(world)
        process.kill()
        process.join()

    assert [path.read_text() for path in folder.glob("violation-*")] == []
    jobs = world.queue.list(None)
    assert {job.state for job in jobs} <= {"done", "failed"}  # a job gives way to a newer one of its repository
    for repository in repositories:
        checkout = world.repositories.get_checkout(repository)
        assert check_checkout(checkout) == pushed[repository]
        assert (checkout / ".coderag" / "number").read_text() == str(pushed[repository])
        newest = world.queue.list([repository])[0]
        assert (newest.state, newest.commit) == ("done", GitOrigin.git(checkout, "rev-parse", "HEAD"))
        assert world.repositories.find(repository).commit == newest.commit
        assert read_files(checkout).keys() >= {MANIFEST}
        assert find_leftovers(checkout.parent) == []
        assert GitOrigin.git(checkout, "fsck", "--no-dangling") == ""
    interrupted = [job for job in jobs if job.attempts > 1]
    assert interrupted, "no kill hit a running job"
    ServerTable.metadata.drop_all(world.database.engine)
    world.close()


def find_leftovers(folder: Path) -> list[str]:
    """Return what an interrupted run left in the folder of a repository."""
    known = {"checkout", "mirror.git", "lock", "git.lock"}
    strays = [
        str(path)
        for path in (folder / "mirror.git").rglob("*")
        if path.name.startswith("tmp_") or path.suffix in (".lock", ".tmp")
    ]
    return [path.name for path in folder.iterdir() if path.name not in known] + strays
