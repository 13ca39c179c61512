"""Streams of the REST interface: answers while they are written, and runs of indexing."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from coderag.config.settings import Settings
from coderag.errors import IndexLockedError, ModelUnavailableError
from coderag.interfaces.rest.app import make_app
from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.workspace.jobs import IndexJob
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, FakeWorkspace, RestClient, events_of
from tests.support.corpora import write_files

DEADLINE_S = 20
ANSWER = Answer("q", "general", "It is so.", (), 1, 1, "found", ())
REPORT = IndexReport(1, {"indexed": 2}, 3, 4, 5, 6, 7, 0, 0, 0, 0)
EVENTS = {"accept": "text/event-stream"}


class Writer:
    """An engine that writes an answer: the given events, then an error, or nothing more until it is ended."""

    settings = Settings()

    def __init__(self, *events, error=None, waits=False):
        self.events = events
        self.error = error
        self.waits = waits
        self.started, self.ended = asyncio.Event(), asyncio.Event()

    async def astream(self, query, *, token_budget=None, filters=None):
        self.started.set()
        try:
            for event in self.events:
                yield event
            if self.waits:
                await asyncio.Event().wait()
            if self.error:
                raise self.error
        finally:
            self.ended.set()

    async def aask(self, query, *, token_budget=None, filters=None):
        answer = ANSWER
        async for event in self.astream(query):
            answer = event.answer or answer
        return answer


def ask(engine, *, request_s=5.0):
    rest = RestClient(make_app(FakeWorkspace(engine), request_s=request_s), "/shop")
    return rest.http.post(f"{API}/ask", json={"root": "/shop", "query": "q"}, headers=EVENTS)


def test_each_step_of_an_answer_is_an_event_of_its_kind():
    steps = [AnswerEvent("stage", "analyze"), AnswerEvent("draft", "It\nis"), AnswerEvent("text", "It is so.")]
    events = events_of(ask(Writer(*steps, AnswerEvent("answer", answer=ANSWER))).text)
    assert [(name, data["text"]) for name, data in events] == [
        ("stage", "analyze"), ("draft", "It\nis"), ("text", "It is so."), ("answer", "")
    ]  # fmt: skip
    assert events[-1][1]["answer"]["text"] == "It is so."


def test_an_error_before_the_first_event_has_its_status():
    reply = ask(Writer(error=ModelUnavailableError("no model", hint="Start it.")))
    assert (reply.status_code, reply.json()["hint"]) == (503, "Start it.")


def test_an_error_later_is_the_last_event():
    reply = ask(Writer(AnswerEvent("stage", "analyze"), error=ModelUnavailableError("no model", hint="Start it.")))
    name, problem = events_of(reply.text)[-1]
    assert (reply.status_code, name, problem["type"], problem["hint"]) == (
        200, "error", "ModelUnavailableError", "Start it."
    )  # fmt: skip


def test_a_fault_later_is_told_without_what_is_inside():
    reply = ask(Writer(AnswerEvent("stage", "analyze"), error=KeyError("secret")))
    assert events_of(reply.text)[-1][1]["type"] == "InternalError"
    assert "secret" not in reply.text


def test_a_stream_that_falls_silent_is_kept_alive_and_then_ended(monkeypatch):
    monkeypatch.setattr("coderag.interfaces.rest.event_stream._KEEP_ALIVE_S", 0.05)
    reply = ask(Writer(AnswerEvent("stage", "analyze"), waits=True), request_s=0.2)
    assert reply.text.count(": keep-alive\n\n") >= 1
    assert events_of(reply.text)[-1][1]["type"] == "ServiceError"


def test_an_answer_that_takes_too_long_is_given_up():
    rest = RestClient(make_app(FakeWorkspace(Writer(waits=True)), request_s=0.1), "/shop")
    assert rest.post("/ask", query="q").status_code == 503


class Caller:
    """Asks an app as a server does, and goes away when it is told to."""

    def __init__(self, app, headers=()):
        self.sent = []
        self.got_body = asyncio.Event()
        self.leaves = asyncio.Event()
        body = json.dumps({"root": "/shop", "query": "q"}).encode()
        self._incoming = [{"type": "http.request", "body": body, "more_body": False}]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": f"{API}/ask", "raw_path": f"{API}/ask".encode(), "query_string": b"", "root_path": "",
            "headers": [(b"content-type", b"application/json"), *headers], "client": ("c", 1), "server": ("s", 2),
        }  # fmt: skip
        self.run = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self):
        if self._incoming:
            return self._incoming.pop()
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        self.sent.append(message)
        if message.get("body"):
            self.got_body.set()


@pytest.mark.parametrize("headers", [[(b"accept", b"text/event-stream")], []], ids=["stream", "reply"])
async def test_a_client_that_goes_away_ends_the_work(headers):
    engine = Writer(AnswerEvent("stage", "analyze"), waits=True)
    workspace = FakeWorkspace(engine)
    caller = Caller(make_app(workspace), headers)
    async with asyncio.timeout(DEADLINE_S):
        await engine.started.wait()
        if headers:
            await caller.got_body.wait()
        caller.leaves.set()
        await engine.ended.wait()
        await caller.run
    assert workspace.uses == 0


def job_of(*changes, cancel=lambda: None):
    job = IndexJob("/shop", full=False, cancel=cancel)
    for change in changes:
        job.update(change)
    return job


def client_of(*jobs):
    workspace = FakeWorkspace()
    workspace.listed = list(jobs)
    return RestClient(make_app(workspace), "/shop")


def test_a_run_of_indexing_is_begun_and_named():
    job = job_of({"state": "running"})
    reply = client_of(job).post("/index")
    assert (reply.status_code, reply.json()["id"], reply.json()["state"]) == (202, job.id, "running")
    assert reply.headers["location"] == f"{API}/jobs/{job.id}"


def test_a_run_that_failed_says_with_which_error():
    job = job_of()
    job.error = IndexLockedError("busy", hint="Wait.")
    job.update({"state": "failed", "error": "busy", "hint": "Wait."})
    told = client_of(job).http.get(f"{API}/jobs/{job.id}").json()
    assert (told["type"], told["error"], told["hint"], told["retryable"]) == ("IndexLockedError", "busy", "Wait.", True)


def test_runs_are_listed_of_one_repository_or_of_all():
    jobs = client_of(job_of(), job_of())
    assert len(jobs.http.get(f"{API}/jobs").json()["jobs"]) == 2
    assert len(jobs.http.get(f"{API}/jobs", params={"root": "/other"}).json()["jobs"]) == 0


def test_a_run_is_cancelled():
    job = job_of({"state": "running"}, cancel=lambda: job.update({"state": "cancelled"}))
    assert client_of(job).http.delete(f"{API}/jobs/{job.id}").json()["state"] == "cancelled"


def test_the_events_of_a_run_end_with_its_report():
    job = job_of({"state": "running"})

    def work():
        for done in range(50):
            job.update({"progress": IndexProgress("chunk", done, 50)})
        job.update({"state": "done", "report": REPORT})

    worker = threading.Thread(target=work)
    worker.start()
    events = events_of(client_of(job).http.get(f"{API}/jobs/{job.id}/events").text)
    worker.join(DEADLINE_S)
    assert {name for name, _ in events} == {"job"}
    assert (events[-1][1]["state"], events[-1][1]["report"]["chunks"]) == ("done", 3)


def test_a_run_that_has_ended_tells_that_once():
    job = job_of({"state": "done", "report": REPORT})
    assert len(events_of(client_of(job).http.get(f"{API}/jobs/{job.id}/events").text)) == 1


@pytest.mark.slow
def test_a_repository_is_indexed_through_the_interface(tmp_path: Path):
    root = write_files(tmp_path / "shop", {"cart.py": "def total():\n    return 1\n"})
    workspace = Workspace(WorkspaceOptions(allowed_roots=(tmp_path,), watch=False))
    try:
        rest = RestClient(make_app(workspace), root)
        job = rest.result("/index")
        events = events_of(rest.http.get(f"{API}/jobs/{job['id']}/events").text)
        assert events[-1][1]["report"]["files"] == {"indexed": 1}
        assert [hit["name"] for hit in rest.result("/search", query="total")["hits"]] == ["total"]
    finally:
        workspace.close()
