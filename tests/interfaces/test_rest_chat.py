"""Conversations over REST: streamed answers, follow-ups, stored turns, and bad input."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace
from tests.interfaces.rest_server import API, RestClient, events_of
from tests.support.shop import write_shop


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestClient]:
    root = write_shop(tmp_path_factory.mktemp("shop"))
    CodeRAG(root).index()
    with Workspace() as workspace:
        client = RestClient(make_app(workspace), root)
        with client.http:
            yield client


def chat(rest: RestClient, **body: Any) -> list[tuple[str, Any]]:
    reply = rest.post("/chat", **body)
    assert reply.status_code == 200, reply.text
    return events_of(reply.text)


def get(rest: RestClient, path: str, **query: str) -> Any:
    return rest.http.get(API + path, params={"root": rest.root, **query})


def test_a_follow_up_is_answered_from_the_conversation(rest: RestClient) -> None:
    events = chat(rest, text="where is apply_discount defined?")
    thread = events[0][1]["thread"]
    assert [events[0][0], events[-1][0]] == ["thread", "answer"]
    stages = [data for name, data in events if name == "stage"]
    assert {"analyze", "answer"} <= {entry["node"] for stage in stages for entry in stage["trace"]}
    answer = chat(rest, text="who calls it?", thread=thread)[-1][1]["answer"]
    assert "compute_total" in answer["text"]
    turns = get(rest, f"/chat/{thread}").json()
    assert [turn["role"] for turn in turns["turns"]] == ["user", "assistant"] * 2
    assert "apply_discount" in turns["turns"][2]["question"]
    assert thread in [info["id"] for info in get(rest, "/chat").json()["threads"]]


def test_a_conversation_is_exported_and_deleted(rest: RestClient) -> None:
    chat(rest, text="who calls charge?", thread="payments")
    exported = get(rest, "/chat/payments/export")
    assert exported.headers["content-type"].startswith("text/markdown")
    assert "who calls charge?" in exported.text
    assert get(rest, "/chat/payments/export", format="json").json()
    reply = rest.http.delete(f"{API}/chat/payments", params={"root": rest.root})
    assert reply.json() == {"known": True}
    assert rest.http.delete(f"{API}/chat/payments", params={"root": rest.root}).status_code == 404
    assert get(rest, "/chat/payments").json()["turns"] == []
    assert get(rest, "/chat/payments/export").status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": " "},
        {"text": "q", "approve": True, "thread": "a"},
        {"approve": True},
        {"text": "q", "thread": "../a"},
    ],
)
def test_a_request_that_asks_nothing_is_refused(rest: RestClient, body: dict[str, Any]) -> None:
    assert rest.post("/chat", **body).status_code == 422


def test_a_decision_without_a_waiting_prompt_is_an_error(rest: RestClient) -> None:
    events = chat(rest, thread="nothing-waits", approve=True)
    assert [name for name, _ in events] == ["thread", "error"]
    assert "no prompt waits" in events[-1][1]["detail"]


def test_a_repository_without_an_index_is_an_error(rest: RestClient, tmp_path: Path) -> None:
    reply = rest.http.post(f"{API}/chat", json={"root": str(tmp_path), "text": "where is it?"})
    events = events_of(reply.text)
    assert (events[-1][0], events[-1][1]["type"]) == ("error", "IndexNotFoundError")
