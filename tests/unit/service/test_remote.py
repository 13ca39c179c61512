"""What commands ask through the service, and in this process where the service cannot do it."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from coderag.errors import (
    CodeRAGError,
    ConfigurationError,
    ForbiddenRootError,
    IndexNotFoundError,
    ModelAuthenticationError,
    ModelUnavailableError,
    ServiceBusyError,
    ServiceError,
    UnknownNameError,
)
from coderag.interfaces.json_values import encode_json
from coderag.schema.answers import AnswerEvent
from coderag.schema.indexing import IndexProgress
from coderag.schema.search import Filters
from coderag.service.client import ServerEvent, ServiceClient
from coderag.service.remote import RemoteCodeRAG
from tests.interfaces.fake_app import FakeCodeRAG

ROOT = Path("/repo").absolute()


class FakeService(ServiceClient):
    """Replies what it was told to, and keeps what it was asked.

    Args:
        replies: To requests, in turn; an error is raised.
        told: Events; an error is raised.
    """

    def __init__(self, *replies: object, told: tuple[object, ...] = ()) -> None:
        self.replies = list(replies)
        self.told = told
        self.asked: list[tuple[str, str, Mapping[str, object] | None]] = []

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        self.asked.append((method, path, body))
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return json.loads(encode_json(reply))

    def stream_events(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        self.asked.append((method, path, body))
        for event in self.told:
            if isinstance(event, BaseException):
                raise event
            yield ServerEvent("event", json.loads(encode_json(event)))


class Here:
    """Opens the engine of this process, and counts how often."""

    def __init__(self) -> None:
        self.opened = 0
        self.engine = FakeCodeRAG(ROOT)

    def __call__(self) -> Any:
        self.opened += 1
        return self.engine


@pytest.fixture
def here() -> Here:
    return Here()


def remote_of(service: FakeService, here: Here, on_served: Callable[[], None] | None = None) -> RemoteCodeRAG:
    return RemoteCodeRAG(ROOT, service, here, on_served)


FOUND = {"hits": [], "evidence": "not_found", "confidence": 0.1, "not_indexed": []}


def test_a_search_is_the_services(here: Here) -> None:
    found = remote_of(FakeService(FOUND), here).search("q", top_k=3, filters=Filters(paths=("src",), complexity=(1, 5)))
    assert (found.evidence, here.opened) == ("not_found", 0)


def test_a_search_says_all_that_was_asked(here: Here) -> None:
    service = FakeService(FOUND)
    remote_of(service, here).search("q", top_k=3, filters=Filters(paths=("src",), complexity=(1, 5)))
    body = dict(service.asked[0][2] or {})
    filters = body.pop("filters")
    assert body == {"root": str(ROOT), "query": "q", "top_k": 3}
    assert isinstance(filters, dict)
    assert (filters["paths"], filters["complexity"]) == (["src"], [1, 5])


@pytest.mark.parametrize(
    "error",
    [
        ServiceError("gone"),
        ServiceBusyError("busy"),
        ConfigurationError("of its own"),
        ModelAuthenticationError("no key there"),
        ForbiddenRootError("outside"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_service_cannot_do_is_done_here(here: Here, error: CodeRAGError) -> None:
    assert remote_of(FakeService(error), here).search("login") == FakeCodeRAG(ROOT).search("login")


@pytest.mark.parametrize(
    "error",
    [IndexNotFoundError("none"), UnknownNameError("what"), ModelUnavailableError("down")],
    ids=str,
)
def test_an_error_that_this_process_would_have_too_is_raised(here: Here, error: CodeRAGError) -> None:
    with pytest.raises(type(error)):
        remote_of(FakeService(error), here).search("q")


def test_the_engine_here_is_kept_once_it_was_needed(here: Here) -> None:
    remote = remote_of(FakeService(ServiceError("gone")), here)
    remote.search("login")
    remote.status()
    assert (here.opened, [name for name, _ in here.engine.calls]) == (1, ["search", "status"])


def test_the_warning_comes_once_and_only_if_the_service_answers(here: Here) -> None:
    warned: list[int] = []
    remote = remote_of(FakeService(IndexNotFoundError("none"), FOUND), here, lambda: warned.append(1))
    with pytest.raises(IndexNotFoundError):
        remote.search("q")
    remote.search("q")
    assert warned == [1]


def test_a_graph_with_more_results_than_a_reply_has_is_asked_here(here: Here) -> None:
    service = FakeService({"results": [], "total": 5})
    assert remote_of(service, here).graph.callers("login") == here.engine.graph.callers("login")


async def test_an_answer_that_breaks_off_before_its_text_is_written_here(here: Here) -> None:
    service = FakeService(told=(AnswerEvent("stage", "search"), AnswerEvent("draft", "It"), ServiceError("gone")))
    events = [event async for event in remote_of(service, here).astream("login")]
    assert events[-1].answer == here.engine.ask("login")


async def test_an_answer_that_breaks_off_in_its_text_is_an_error(here: Here) -> None:
    service = FakeService(told=(AnswerEvent("text", "It does"), ServiceError("gone")))
    with pytest.raises(ServiceError):
        await drained(remote_of(service, here).astream("login"))


async def drained(events: AsyncIterator[AnswerEvent]) -> None:
    async for _ in events:
        pass


def job(state: str, **more: object) -> dict[str, object]:
    return {"id": "j1", "state": state, "progress": None, "report": None, "error": "", "hint": "", "type": "", **more}


def test_indexing_shows_its_progress_and_returns_its_report(here: Here) -> None:
    report, seen = FakeCodeRAG(ROOT).index(), list[IndexProgress]()
    told = (job("running", progress=IndexProgress("chunk", 1, 2)), job("done", report=report))
    assert encode_json(
        remote_of(FakeService(job("queued"), told=told), here).index(progress=seen.append)
    ) == encode_json(report)
    assert seen == [IndexProgress("chunk", 1, 2)]


def test_a_run_that_failed_is_the_error_that_it_was(here: Here) -> None:
    told = (job("failed", error="no space", type="StorageFullError"),)
    with pytest.raises(CodeRAGError, match="no space") as caught:
        remote_of(FakeService(job("queued"), told=told), here).index()
    assert type(caught.value).__name__ == "StorageFullError"


def test_interrupting_ends_the_run_in_the_service_too(here: Here) -> None:
    service = FakeService(job("queued"), job("cancelled"), told=(KeyboardInterrupt(),))
    with pytest.raises(KeyboardInterrupt):
        remote_of(service, here).index()
    assert service.asked[-1][:2] == ("DELETE", "/api/v1/jobs/j1")
