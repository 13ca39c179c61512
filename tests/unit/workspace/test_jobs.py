import threading

from coderag.schema.indexing import IndexProgress
from coderag.workspace.jobs import IndexJob


def make_job(cancel=lambda: None):
    return IndexJob("/repo", full=False, cancel=cancel)


def test_who_watches_is_told_how_it_stands_now_and_then_each_change():
    job, seen = make_job(), []
    job.watch(lambda view: seen.append(view.state))
    job.update({"state": "running"})
    job.update({"state": "done"})
    assert seen == ["queued", "running", "done"]


def test_who_has_stopped_watching_is_told_nothing_more():
    job, seen = make_job(), []
    end = job.watch(lambda view: seen.append(view.state))
    end()
    job.update({"state": "running"})
    end()
    assert seen == ["queued"]


def test_a_watcher_that_fails_keeps_the_change_from_nobody():
    job, seen = make_job(), []

    def fail(view):
        if view.state == "running":
            raise RuntimeError("a watcher's fault")

    job.watch(fail)
    job.watch(lambda view: seen.append(view.state))
    job.update({"state": "running"})
    assert seen == ["queued", "running"]


def test_a_job_that_has_ended_stays_as_it_is():
    job = make_job()
    job.update({"state": "cancelled"})
    job.update({"state": "running", "progress": IndexProgress("scan", 0, 0)})
    assert job.view.state == "cancelled"
    assert job.view.progress is None


def test_waiting_ends_when_the_job_does():
    job = make_job()
    waiter = threading.Thread(target=job.wait)
    waiter.start()
    job.update({"state": "failed"})
    waiter.join(10)
    assert not waiter.is_alive()


def test_waiting_ends_when_the_time_is_over():
    assert make_job().wait(0.01).state == "queued"


def test_cancelling_a_job_that_has_ended_does_nothing():
    cancelled = []
    job = make_job(lambda: cancelled.append(1))
    job.update({"state": "done"})
    job.cancel()
    assert not cancelled
