"""Workers and the scheduler over a real git server: what they do with success, failure, cancelling and an outage."""

import threading
import time
from types import SimpleNamespace

import pytest

from coderag.errors import DatabaseUnavailableError, IndexModelError, IngestionError, ModelUnavailableError
from coderag.server.jobs.scheduler import Scheduler
from coderag.server.jobs.threads import JobThreads
from coderag.server.jobs.worker import JobStoppedError, Worker
from coderag.server.storage.models import WebhookDelivery
from tests.support.git_http_server import GitHttpServer
from tests.support.git_origins import GitOrigin, read_files
from tests.support.server_world import ServerWorld


@pytest.fixture
def world(tmp_path):
    (tmp_path / "origins").mkdir()
    with GitHttpServer(tmp_path / "origins") as server:
        origin = GitOrigin(tmp_path / "origins")
        commit = origin.commit({"a.py": "a\n"})
        server_world = ServerWorld(tmp_path / "server")
        yield SimpleNamespace(
            git=server, origin=origin, commit=commit, server=server_world, queue=server_world.queue,
            clock=server_world.clock, repositories=server_world.repositories,
        )  # fmt: skip
        server_world.close()


def add(world, name="shop", path="shop.git", **options):
    return world.repositories.add(name, world.git.url(path), **options)


def worker(world, index=lambda checkout, progress: {}, **options):
    return Worker(world.queue, world.repositories, index, idle_s=0.02, **options)


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def test_a_new_repository_is_fetched_and_indexed(world):
    repository, seen = add(world), []

    def index(checkout, progress):
        progress({"phase": "indexing", "done": 1, "total": 1})
        seen.append((checkout, read_files(checkout)))
        return {"wiki": "wiki.example.org refused the key."}

    assert worker(world, index).run_next()
    assert seen == [(world.repositories.get_checkout(repository.id), {"a.py": b"a\n"})]
    (job,) = world.queue.list(None)
    assert (job.reason, job.state, job.commit, job.error) == ("add", "done", world.commit, "")
    assert job.source_errors == {"wiki": "wiki.example.org refused the key."}
    assert world.repositories.find("shop").commit == world.commit
    assert not worker(world, index).run_next()


def test_progress_is_stored_while_a_job_runs(world):
    add(world)
    shown = []

    def index(checkout, progress):
        progress({"phase": "indexing", "done": 1, "total": 9})
        wait_for(lambda: world.queue.list(None)[0].progress.get("total") == 9)
        shown.append(world.queue.list(None)[0].progress)
        return {}

    worker(world, index).run_next()
    assert shown == [{"phase": "indexing", "done": 1, "total": 9}]


def test_much_progress_writes_seldom(world, monkeypatch):
    add(world)
    writes = []
    renew = world.queue.renew
    monkeypatch.setattr(world.queue, "renew", lambda *arguments: writes.append(arguments) or renew(*arguments))

    def index(checkout, progress):
        began = time.monotonic()
        while time.monotonic() - began < 2.5:
            progress({"phase": "indexing", "done": time.monotonic()})
            time.sleep(0.001)
        return {}

    worker(world, index).run_next()
    assert 1 <= len(writes) <= 4


@pytest.mark.parametrize(
    ("error", "state", "text"),
    [
        (ModelUnavailableError("the model is away", hint="Wait."), "queued", "the model is away. Wait."),
        (IndexModelError("another model", hint="Index again."), "failed", "another model. Index again."),
        (ValueError("secret-value"), "queued", "internal error: ValueError"),
    ],
)
def test_a_failure_of_the_index_is_noted(world, error, state, text):
    add(world)

    def index(checkout, progress):
        raise error

    worker(world, index).run_next()
    (job,) = world.queue.list(None)
    assert (job.state, job.error) == (state, text)
    assert world.repositories.find("shop").indexed_at is None


def test_the_error_of_a_job_does_not_name_the_folder_on_the_server(world):
    def index(checkout, progress):
        raise IngestionError(f"{checkout}/a.py cannot be read", hint=f"Look at {checkout}.")

    add(world)
    assert worker(world, index).run_next()
    (job,) = world.queue.list(None)
    assert job.error == "the repository/a.py cannot be read. Look at the repository."


def test_a_git_server_that_is_down_is_tried_again_and_a_missing_repository_is_not(world):
    missing = add(world, "missing", "missing.git")
    worker(world).run_next()
    (job,) = world.queue.list([missing.id])
    assert (job.state, "no such repository" in job.error) == ("failed", True)
    down = world.repositories.add("down", "http://127.0.0.1:1/x.git")
    worker(world).run_next()
    (job,) = world.queue.list([down.id])
    assert (job.state, "cannot be reached" in job.error, job.not_before > world.clock.now) == ("queued", True, True)


def test_a_cancelled_job_stops_within_seconds_and_the_next_one_runs(world):
    repository = add(world)
    stopped = []

    def index(checkout, progress):
        world.queue.cancel(world.queue.list(None)[0].id)
        try:
            while True:
                progress({"phase": "indexing", "done": time.monotonic()})
                time.sleep(0.01)
        except JobStoppedError:
            stopped.append(True)
            raise

    worker(world, index).run_next()
    assert stopped == [True]
    assert [job.state for job in world.queue.list(None)] == ["cancelled"]
    world.queue.submit(repository.id, "manual")
    worker(world).run_next()
    assert world.queue.list(None, states=["done"])


def test_a_repository_that_is_removed_while_it_is_indexed_leaves_nothing(world):
    repository = add(world)

    def index(checkout, progress):
        (checkout / ".coderag").mkdir()
        world.repositories.remove(repository.id)
        while True:
            progress({"phase": "indexing", "done": time.monotonic()})
            time.sleep(0.01)

    worker(world, index).run_next()
    assert world.queue.list(None) == []
    assert list((world.server.folder / "repositories").iterdir()) == []


def test_a_removed_repository_whose_worker_died_is_swept_later(world):
    repository = add(world)
    worker(world).run_next()
    folder = world.server.folder / "repositories" / repository.id
    (folder / "removed").touch()
    assert world.repositories.sweep() == 0  # its record is there
    world.repositories.remove(repository.id)
    assert not folder.exists()


def test_a_folder_without_a_record_is_kept_unless_it_was_removed(world):
    stray = world.server.folder / "repositories" / ("a" * 32)
    stray.mkdir(parents=True)
    assert world.repositories.sweep() == 0
    assert stray.exists()


def test_a_stopping_worker_puts_its_job_back(world):
    add(world)
    stop = threading.Event()

    def index(checkout, progress):
        stop.set()
        progress({"phase": "indexing"})

    worker(world, index).run(stop)
    (job,) = world.queue.list(None)
    assert (job.state, job.attempts) == ("queued", 0)


def test_an_index_that_fails_because_the_server_stops_puts_its_job_back(world):
    add(world)
    stop = threading.Event()

    def index(checkout, progress):
        stop.set()
        raise IndexModelError("closed")

    worker(world, index).run(stop)
    (job,) = world.queue.list(None)
    assert (job.state, job.attempts) == ("queued", 0)


def test_a_repository_in_use_is_tried_later_without_counting(world):
    repository = add(world)
    with world.repositories.open_checkout(repository.id, lambda: None, lambda progress: None):
        worker(world).run_next()
    (job,) = world.queue.list(None)
    assert (job.state, job.attempts) == ("queued", 0)
    world.clock.advance(minutes=1)
    worker(world).run_next()
    assert world.queue.list(None)[0].state == "done"


def test_a_worker_outlives_an_outage_of_the_database(world, monkeypatch):
    add(world)
    monkeypatch.setattr("coderag.server.jobs.worker._OUTAGE_S", 0.01)
    claim, failures = world.queue.claim, [DatabaseUnavailableError("away"), RuntimeError("odd")]
    monkeypatch.setattr(
        world.queue, "claim", lambda name: (_ for _ in ()).throw(failures.pop()) if failures else claim(name)
    )
    stop = threading.Event()
    thread = threading.Thread(target=worker(world, lambda *_: stop.set()).run, args=(stop,))
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert failures == []


def test_threads_work_until_they_are_closed(world):
    for number in range(3):
        add(world, f"shop{number}")
    scheduler = Scheduler(world.server.database, world.queue, world.repositories, clock=world.clock)
    threads = JobThreads(world.queue, world.repositories, lambda *_: {}, scheduler=scheduler, size=2)
    threads.start()
    wait_for(lambda: [job.state for job in world.queue.list(None)] == ["done"] * 3)
    assert threads.close()


# -- the scheduler


def schedule(world):
    return Scheduler(world.server.database, world.queue, world.repositories, clock=world.clock)


def test_a_repository_is_fetched_again_when_its_interval_is_over(world):
    repository = add(world, interval_minutes=60)
    add(world, "by-hand")
    while worker(world).run_next():
        pass
    assert schedule(world).submit_due() == 0
    world.clock.advance(minutes=61)
    assert schedule(world).submit_due() == 1
    assert schedule(world).submit_due() == 0
    (job,) = world.queue.list(None, states=["queued"])
    assert (job.repository_id, job.reason) == (repository.id, "schedule")
    world.clock.advance(minutes=64)
    assert schedule(world).submit_due() == 1
    assert len(world.queue.list(None, states=["queued"])) == 1


def test_an_interval_can_be_changed_and_turned_off(world):
    repository = add(world, interval_minutes=60)
    world.repositories.update(repository.id, interval_minutes=5)
    world.clock.advance(minutes=6)
    assert schedule(world).submit_due() == 1
    world.repositories.update(repository.id, interval_minutes=0)
    world.clock.advance(days=9)
    assert schedule(world).submit_due() == 0


def test_cleaning_forgets_old_deliveries_and_jobs(world):
    repository = add(world)
    worker(world).run_next()
    with world.server.database.begin() as session:
        for age, name in ((8, "old"), (1, "new")):
            world.clock.advance(days=-age)
            session.add(WebhookDelivery(repository_id=repository.id, delivery=name, received_at=world.clock.now))
            world.clock.advance(days=age)
    world.clock.advance(days=0)
    schedule(world).clean()
    with world.server.database.read() as session:
        assert [item.delivery for item in session.query(WebhookDelivery)] == ["new"]
