import threading

import pytest

from coderag.errors import IndexLockedError, ModelUnavailableError, ServiceError
from coderag.workspace.index_queue import IndexQueue, IndexRequest
from tests.support.workspaces import DEADLINE_S, REPORT, FakeWriters, eventually


def order(root="/repo", edits=None, trusted=True):
    return IndexRequest(root, trusted, lambda: edits)


class Gate:
    """A run that takes until it is let through."""

    def __init__(self):
        self.open = threading.Event()
        self.entered = threading.Event()

    def __call__(self, task, writer):
        self.entered.set()
        writer.wait_for(self.open)
        return REPORT


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def start():
    """Start a queue whose writers act as told."""
    made = []

    def make(act=lambda task, writer: REPORT, **options):
        writers = FakeWriters(act)
        changes = []
        made.append(IndexQueue(lambda job: changes.append((job.id, job.view.state)), writers, **options))
        made[-1].writers = writers
        made[-1].changes = changes
        return made[-1]

    yield make
    for queue in made:
        queue.close()


def ended(job):
    view = job.wait(DEADLINE_S)
    assert view.state in {"done", "failed", "cancelled"}
    return view


def test_a_job_is_done_and_has_its_report(start):
    view = ended(start().submit(order()))
    assert view.state == "done"
    assert view.report == REPORT


def test_every_change_of_a_job_is_told(start):
    queue = start()
    job = queue.submit(order())
    ended(job)
    eventually(lambda: queue.changes[-1][1] == "done")
    assert [state for _, state in queue.changes] == ["queued", "running", "running", "done"]


def test_a_job_has_its_progress(start, gate):
    job = start(gate).submit(order())
    assert gate.entered.wait(DEADLINE_S)
    assert job.view.progress.stage == "scan"
    gate.open.set()


def test_what_a_task_needs_is_handed_on(start):
    queue = start()
    ended(queue.submit(order("/repo", {"b.py", "a.py"}, trusted=False), for_edits=True))
    (task,) = queue.writers.tasks
    assert (task.root, task.trusted, task.full, task.edited) == ("/repo", False, False, ["a.py", "b.py"])


def test_who_asks_for_a_run_has_the_whole_repository_looked_at(start, gate):
    queue = start(gate)
    queue.submit(order("/other"))
    assert gate.entered.wait(DEADLINE_S)
    queue.submit(order("/repo", {"a.py"}), for_edits=True)
    job = queue.submit(order("/repo", {"a.py"}))
    gate.open.set()
    ended(job)
    assert [task.edited for task in queue.writers.tasks if task.root == "/repo"] == [None]


def test_two_who_ask_for_one_repository_share_the_job(start, gate):
    queue = start(gate)
    first = queue.submit(order())
    assert gate.entered.wait(DEADLINE_S)
    assert queue.submit(order()) is first
    gate.open.set()


def test_edits_during_a_run_wait_for_another_one(start, gate):
    queue = start(gate)
    first = queue.submit(order())
    assert gate.entered.wait(DEADLINE_S)
    second, third = (queue.submit(order(), for_edits=True) for _ in range(2))
    assert first is not second
    assert second is third
    gate.open.set()
    assert ended(second).state == "done"


def test_a_full_run_waits_behind_one_that_is_not(start, gate):
    queue = start(gate)
    first = queue.submit(order())
    assert gate.entered.wait(DEADLINE_S)
    full = queue.submit(order(), full=True)
    assert full is not first
    gate.open.set()
    assert ended(full).full
    assert [task.full for task in queue.writers.tasks] == [False, True]


def test_a_job_that_waits_becomes_a_full_one_when_that_is_asked_for(start, gate):
    queue = start(gate)
    queue.submit(order("/other"))
    assert gate.entered.wait(DEADLINE_S)
    waiting = queue.submit(order())
    assert queue.submit(order(), full=True) is waiting
    assert waiting.view.full
    gate.open.set()


def test_repositories_take_turns_in_one_writer(start, gate):
    queue = start(gate)
    jobs = [queue.submit(order(f"/{name}")) for name in "abc"]
    gate.open.set()
    assert [ended(job).state for job in jobs] == ["done"] * 3
    assert [task.root for task in queue.writers.tasks] == ["/a", "/b", "/c"]
    assert len(queue.writers.started) == 1


def test_an_error_is_that_of_the_job_and_of_no_other(start):
    error = ModelUnavailableError("no answer", hint="Start it.")

    def act(task, writer):
        if task.root == "/bad":
            raise error
        return REPORT

    queue = start(act)
    bad, good = queue.submit(order("/bad")), queue.submit(order("/good"))
    view = ended(bad)
    assert (view.state, view.error, view.hint) == ("failed", "no answer", "Start it.")
    assert bad.error is error
    assert ended(good).state == "done"


def test_a_fault_of_ours_ends_one_job_and_not_the_queue(start):
    queue = start(lambda task, writer: {}["fault"] if task.root == "/bad" else REPORT)
    assert ended(queue.submit(order("/bad"))).state == "failed"
    assert ended(queue.submit(order("/good"))).state == "done"


def test_a_writer_that_died_is_replaced_for_the_next_job(start):
    def act(task, writer):
        if task.root == "/bad":
            writer.kill()
            writer.wait_for(threading.Event())
        return REPORT

    queue = start(act)
    assert ended(queue.submit(order("/bad"))).state == "failed"
    assert ended(queue.submit(order("/good"))).state == "done"
    assert len(queue.writers.started) == 2


def test_a_running_job_is_cancelled_by_ending_the_writer(start, gate):
    queue = start(gate)
    job = queue.submit(order())
    assert gate.entered.wait(DEADLINE_S)
    job.cancel()
    assert ended(job).state == "cancelled"
    gate.open.set()
    assert ended(queue.submit(order())).state == "done"


def test_a_waiting_job_is_cancelled_without_harm_to_the_one_under_way(start, gate):
    queue = start(gate)
    first = queue.submit(order("/one"))
    assert gate.entered.wait(DEADLINE_S)
    second = queue.submit(order("/two"))
    second.cancel()
    assert second.view.state == "cancelled"
    gate.open.set()
    assert ended(first).state == "done"
    assert [task.root for task in queue.writers.tasks] == ["/one"]


def test_while_another_process_writes_the_job_waits_and_others_go_on(start):
    tries = []

    def act(task, writer):
        if task.root == "/locked":
            tries.append(1)
            if len(tries) < 3:
                raise IndexLockedError("is being written", hint="Wait.")
        return REPORT

    queue = start(act)
    locked, other = queue.submit(order("/locked")), queue.submit(order("/other"))
    assert ended(other).state == "done"
    assert locked.view.state == "queued"
    assert locked.view.error == "is being written"
    view = ended(locked)
    assert view.state == "done"
    assert not view.error


def test_a_job_that_waits_for_another_process_can_be_cancelled(start):
    def act(task, writer):
        raise IndexLockedError("is being written")

    queue = start(act)
    job = queue.submit(order())
    eventually(lambda: job.view.error)
    job.cancel()
    assert ended(job).state == "cancelled"


def test_a_writer_without_work_is_ended_and_started_again(start):
    queue = start(idle_s=0.05)
    ended(queue.submit(order()))
    eventually(lambda: queue.writers.started[0].is_closed)
    assert ended(queue.submit(order())).state == "done"
    assert len(queue.writers.started) == 2


def test_jobs_are_told_with_the_last_asked_for_first(start, gate):
    queue = start(gate)
    jobs = [queue.submit(order(f"/{name}")) for name in "abc"]
    assert gate.entered.wait(DEADLINE_S)
    jobs[1].cancel()
    assert queue.list_jobs() == [jobs[2], jobs[0], jobs[1]]
    gate.open.set()


def test_the_current_job_of_a_repository_is_the_one_under_way_then_the_last_one(start, gate):
    queue = start(gate)
    first = queue.submit(order())
    assert gate.entered.wait(DEADLINE_S)
    second = queue.submit(order(), for_edits=True)
    assert queue.find_current_job("/repo") is first
    gate.open.set()
    ended(second)
    assert queue.find_current_job("/repo") is second
    assert queue.find_current_job("/other") is None


def test_closing_cancels_what_runs_and_leaves_no_thread(start, gate):
    queue = start(gate)
    running, waiting = queue.submit(order("/a")), queue.submit(order("/b"))
    assert gate.entered.wait(DEADLINE_S)
    queue.close()
    assert (running.view.state, waiting.view.state) == ("cancelled", "cancelled")
    assert queue.writers.started[0].is_closed
    assert not [thread for thread in threading.enumerate() if thread.name == "index jobs"]


def test_nothing_is_begun_after_closing(start):
    queue = start()
    queue.close()
    with pytest.raises(ServiceError, match="closed"):
        queue.submit(order())
