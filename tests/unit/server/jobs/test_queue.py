"""Queue of jobs: joining, fairness between teams, leases, retries, and what no worker can lose."""

import tempfile
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coderag.errors import InvalidValueError, UnknownNameError
from coderag.server.jobs.queue import ACTIVE_STATES
from coderag.server.storage.models import ServerTable
from tests.support.postgres_process import open_postgres
from tests.support.server_world import ServerWorld


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    with open_postgres(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request, tmp_path):
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgres")
    world = ServerWorld(tmp_path, url=url)
    yield world
    ServerTable.metadata.drop_all(world.database.engine)
    world.close()


def states(world):
    return [job.state for job in reversed(world.queue.list(None))]


def test_a_thousand_pushes_make_one_job(world):
    repository = world.add_repository("shop")
    assert len({world.queue.submit(repository, "push").id for _ in range(100)}) == 1
    assert states(world) == ["queued"]


def test_threads_that_push_at_once_make_one_job(world):
    repository = world.add_repository("shop")
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(world.queue.submit(repository, "push").id)) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 12
    assert len(set(seen)) == 1


def test_a_push_while_a_job_runs_makes_one_more(world):
    repository = world.add_repository("shop")
    first = world.queue.submit(repository, "add")
    assert world.queue.claim("w").id == first.id
    second = world.queue.submit(repository, "push")
    assert second.id != first.id
    assert world.queue.submit(repository, "push").id == second.id
    assert world.queue.claim("w2") is None  # a repository has one running job
    assert world.queue.finish(first.id, "w", "abc")
    assert world.queue.claim("w2").id == second.id


def test_a_job_of_an_unknown_repository_is_refused(world):
    with pytest.raises(UnknownNameError):
        world.queue.submit("0" * 32, "push")
    for name in ("\0", "x" * 5000, ""):
        for call in (
            world.queue.get,
            world.queue.cancel,
            lambda name: world.queue.submit(name, "push"),
            world.repositories.find,
        ):
            with pytest.raises(UnknownNameError):
                call(name)


def test_a_finished_job_is_noted_with_its_repository(world):
    repository = world.add_repository("shop")
    job = world.queue.submit(repository, "add")
    claimed = world.queue.claim("w")
    assert (claimed.state, claimed.attempts, claimed.worker, claimed.started_at) == ("running", 1, "w", world.clock.now)
    world.clock.advance(minutes=1)
    assert world.queue.renew(job.id, "w", {"phase": "indexing", "done": 3})
    assert world.queue.get(job.id).progress == {"phase": "indexing", "done": 3}
    assert world.queue.finish(job.id, "w", "abc")
    done = world.queue.get(job.id)
    assert (done.state, done.commit, done.ended_at, done.leased_until) == ("done", "abc", world.clock.now, None)
    stored = world.repositories.find(repository)
    assert (stored.commit, stored.indexed_at) == ("abc", world.clock.now)


def test_a_team_with_many_jobs_does_not_hold_up_another(world):
    big, small = world.add_team("big"), world.add_team("small")
    for number in range(6):
        world.queue.submit(world.add_repository(f"big{number}", big), "schedule")
        world.clock.advance(seconds=1)
    for number in range(2):
        world.queue.submit(world.add_repository(f"small{number}", small), "schedule")
        world.clock.advance(seconds=1)
    alone = []
    for _ in range(8):  # one worker, which runs one after the other
        job = world.queue.claim("w")
        alone.append("big" if job.team_id == big else "small")
        world.clock.advance(seconds=1)
        world.queue.finish(job.id, "w", "abc")
    assert alone == ["big", "small", "big", "small", "big", "big", "big", "big"]


def test_the_team_with_the_fewest_running_jobs_comes_first(world):
    teams = {world.add_team(name): name for name in ("a", "b")}
    for team, name in teams.items():
        for number in range(4):
            world.queue.submit(world.add_repository(f"{name}{number}", team), "push")
            world.clock.advance(seconds=1)
    claimed = [teams[world.queue.claim(f"w{number}").team_id] for number in range(6)]
    assert sorted(claimed[:2]) == sorted(claimed[2:4]) == sorted(claimed[4:]) == ["a", "b"]


def test_repositories_without_a_team_share_a_turn(world):
    team = world.add_team("a")
    for number in range(3):
        world.queue.submit(world.add_repository(f"none{number}"), "push")
        world.clock.advance(seconds=1)
    world.queue.submit(world.add_repository("team", team), "push")
    assert [world.queue.claim(f"w{number}").team_id for number in range(3)] == [None, team, None]


def test_workers_that_claim_at_once_get_different_jobs(world):
    for number in range(10):
        world.queue.submit(world.add_repository(f"r{number}"), "push")
    seen = []

    def work(name):
        while (job := world.queue.claim(name)) is not None:
            seen.append(job.id)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == len(set(seen)) == 10


def test_a_job_whose_worker_died_is_run_again_and_the_dead_one_cannot_end_it(world):
    repository = world.add_repository("shop")
    job = world.queue.submit(repository, "add")
    world.queue.claim("dead")
    world.clock.advance(seconds=59)
    assert world.queue.claim("alive") is None
    world.clock.advance(seconds=2)
    assert world.queue.claim("alive").id == job.id
    assert not world.queue.renew(job.id, "dead", {"phase": "x"})
    assert not world.queue.finish(job.id, "dead", "old")
    assert not world.queue.fail(job.id, "dead", "late")
    assert not world.queue.release(job.id, "dead")
    current = world.queue.get(job.id)
    assert (current.state, current.worker, current.attempts, current.commit) == ("running", "alive", 2, "")


def test_a_job_that_kills_every_worker_fails_at_last(world):
    job = world.queue.submit(world.add_repository("shop"), "add")
    for number in range(5):
        assert world.queue.claim(f"w{number}").id == job.id
        world.clock.advance(minutes=2)
    assert world.queue.claim("w") is None
    ended = world.queue.get(job.id)
    assert (ended.state, ended.error) == ("failed", "the worker that ran the job has died")


def test_a_failure_is_tried_again_after_growing_pauses_up_to_a_limit(world):
    job = world.queue.submit(world.add_repository("shop"), "add")
    pauses = []
    for attempt in range(1, 6):
        assert world.queue.claim("w").attempts == attempt
        world.queue.fail(job.id, "w", f"failure {attempt}")
        current = world.queue.get(job.id)
        assert current.error == f"failure {attempt}"
        if attempt < 5:
            assert current.state == "queued"
            assert world.queue.claim("w") is None
            pauses.append((current.not_before - world.clock.now).total_seconds())
            world.clock.now = current.not_before
    assert world.queue.get(job.id).state == "failed"
    assert all(later > earlier for earlier, later in pairwise(pauses))


def test_a_permanent_failure_is_not_tried_again(world):
    job = world.queue.submit(world.add_repository("shop"), "add")
    world.queue.claim("w")
    world.queue.fail(job.id, "w", "no such branch", is_permanent=True)
    assert (world.queue.get(job.id).state, world.queue.get(job.id).error) == ("failed", "no such branch")


def test_a_request_by_hand_ends_the_pause_and_a_push_does_not(world):
    repository = world.add_repository("shop")
    job = world.queue.submit(repository, "add")
    world.queue.claim("w")
    world.queue.fail(job.id, "w", "down")
    assert world.queue.submit(repository, "push").id == job.id
    assert world.queue.claim("w") is None
    assert world.queue.submit(repository, "manual").id == job.id
    assert world.queue.claim("w").attempts == 1


def test_a_failed_job_gives_way_to_a_newer_one(world):
    repository = world.add_repository("shop")
    first = world.queue.submit(repository, "add")
    world.queue.claim("w")
    second = world.queue.submit(repository, "push")
    world.queue.fail(first.id, "w", "down")
    assert world.queue.get(first.id).state == "failed"
    assert world.queue.claim("w").id == second.id


def test_a_released_job_keeps_its_attempts(world):
    job = world.queue.submit(world.add_repository("shop"), "add")
    for _ in range(10):
        assert world.queue.claim("w").attempts == 1
        assert world.queue.release(job.id, "w")
    world.queue.claim("w")
    world.queue.release(job.id, "w", delay_s=30)
    assert world.queue.claim("w") is None


def test_cancelling_ends_a_queued_and_a_running_job_but_no_ended_one(world):
    repository = world.add_repository("shop")
    queued = world.queue.submit(repository, "add")
    assert world.queue.cancel(queued.id).state == "cancelled"
    running = world.queue.submit(repository, "add")
    world.queue.claim("w")
    world.queue.cancel(running.id)
    assert not world.queue.renew(running.id, "w")
    assert not world.queue.finish(running.id, "w", "abc")
    assert world.queue.get(running.id).state == "cancelled"
    with pytest.raises(InvalidValueError, match="it is cancelled"):
        world.queue.cancel(running.id)
    with pytest.raises(UnknownNameError):
        world.queue.cancel("nothing")


def test_lists_show_the_given_repositories_only_newest_first(world):
    first, another = world.add_repository("a"), world.add_repository("b")
    for repository in (first, another):
        world.queue.submit(repository, "add")
        world.clock.advance(seconds=1)
    world.queue.claim("w")
    assert [job.repository_id for job in world.queue.list(None)] == [another, first]
    assert [job.repository_id for job in world.queue.list([first])] == [first]
    assert world.queue.list([]) == []
    assert [job.state for job in world.queue.list(None, states=["running"])] == ["running"]
    newest = world.queue.list(None, limit=1)
    assert [job.repository_id for job in world.queue.list(None, before=newest[0].created_at)] == [first]
    assert world.queue.count() == {"queued": 1, "running": 1}


def test_old_jobs_that_ended_are_deleted(world):
    repository = world.add_repository("shop")
    job = world.queue.submit(repository, "add")
    world.queue.claim("w")
    world.queue.finish(job.id, "w", "abc")
    world.clock.advance(days=29)
    kept = world.queue.submit(repository, "schedule")
    assert world.queue.prune() == 0
    world.clock.advance(days=2)
    assert world.queue.prune() == 1
    assert [item.id for item in world.queue.list(None)] == [kept.id]


def test_removing_a_repository_takes_its_jobs_from_their_workers(world):
    repository = world.add_repository("shop")
    job = world.queue.submit(repository, "add")
    world.queue.claim("w")
    world.repositories.remove(repository)
    assert not world.queue.renew(job.id, "w")
    assert not world.queue.finish(job.id, "w", "abc")
    assert world.queue.list(None) == []


class QueueMachine(RuleBasedStateMachine):
    """Any order of pushes, workers, deaths and cancellations on a few repositories of two teams."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.world = ServerWorld(Path(self.folder.name))
        teams = [self.world.add_team("a"), self.world.add_team("b"), None]
        self.repositories = [self.world.add_repository(f"r{number}", team) for number, team in enumerate(teams * 2)]
        self.held = []
        self.pushed = set()

    def teardown(self):
        if hasattr(self, "world"):
            self.world.close()
            self.folder.cleanup()

    @rule(index=st.integers(0, 5), reason=st.sampled_from(["push", "schedule", "manual"]))
    def submit(self, index, reason):
        self.world.clock.advance(seconds=1)  # ids are random, so nothing may depend on their order
        self.world.queue.submit(self.repositories[index], reason)
        self.pushed.add(self.repositories[index])

    @rule(worker=st.sampled_from(["w1", "w2", "w3"]))
    def claim(self, worker):
        job = self.world.queue.claim(worker)
        if job is not None:
            assert job.state == "running"
            self.pushed.discard(job.repository_id)  # the fetch comes after the claim
            self.held.append((job.id, worker))

    @precondition(lambda self: self.held)
    @rule(
        index=st.integers(0, 9),
        end=st.sampled_from(["finish", "fail", "permanent", "release", "cancel", "die"]),
    )
    def end(self, index, end):
        job_id, worker = self.held.pop(index % len(self.held))
        queue = self.world.queue
        match end:
            case "finish":
                queue.finish(job_id, worker, "abc")
            case "fail":
                queue.fail(job_id, worker, "down")
            case "permanent":
                queue.fail(job_id, worker, "gone", is_permanent=True)
            case "release":
                queue.release(job_id, worker)
            case "cancel":
                if queue.get(job_id).state in ACTIVE_STATES:
                    queue.cancel(job_id)

    @rule(seconds=st.integers(1, 200))
    def wait(self, seconds):
        self.world.clock.advance(seconds=seconds)

    @invariant()
    def no_repository_has_two_queued_or_two_running_jobs(self):
        if not hasattr(self, "world"):
            return
        jobs = self.world.queue.list(None, states=ACTIVE_STATES)
        pairs = [(job.repository_id, job.state) for job in jobs]
        assert len(pairs) == len(set(pairs))
        assert all(job.leased_until is not None for job in jobs if job.state == "running")

    @invariant()
    def no_push_is_forgotten(self):
        if hasattr(self, "world"):
            queued = {job.repository_id for job in self.world.queue.list(None, states=["queued"])}
            assert self.pushed <= queued


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=15, stateful_step_count=20)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=15))
@settings(max_examples=20)
def test_each_team_waits_for_no_more_than_one_job_of_each_other_team(tmp_path_factory, owners):
    world = ServerWorld(tmp_path_factory.mktemp("fair"))
    teams = [world.add_team(str(number)) for number in range(4)]
    for number, owner in enumerate(owners):
        world.queue.submit(world.add_repository(f"r{number}", teams[owner]), "push")
        world.clock.advance(seconds=1)
    order = []
    while (job := world.queue.claim("w")) is not None:
        order.append(teams.index(job.team_id))
        world.clock.advance(seconds=1)
        world.queue.finish(job.id, "w", "abc")
    world.close()
    assert sorted(order) == sorted(owners)
    waiting = {owner: owners.count(owner) for owner in set(owners)}
    since = dict.fromkeys(waiting, 0)
    for owner in order:
        for other in since:
            since[other] += 1
        assert since[owner] <= len(waiting)
        since[owner] = 0
        waiting[owner] -= 1
        if not waiting[owner]:
            since.pop(owner)
