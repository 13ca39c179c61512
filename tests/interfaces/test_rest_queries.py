"""The routes of recent queries."""

from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.stores.query_log import QueryLog
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.corpora import write_files

FILES = {
    "money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "a.md": "# Shop\n",
}
QUESTION = "how are values rounded"


@pytest.fixture
def rest(tmp_path):
    root = write_files(tmp_path / "shop", FILES)
    CodeRAG(root).index()
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        yield RestClient(make_app(workspace), root)


def read_queries(rest, **parameters):
    reply = rest.http.get(f"{API}/queries", params={"root": rest.root, **parameters})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_searches_contexts_and_questions_are_recorded(rest):
    hits = rest.result("/search", query=QUESTION, top_k=3, filters={"kinds": ["function"]})["hits"]
    rest.result("/context", query="rounding")
    rest.result("/ask", query=QUESTION)
    rest.http.post(f"{API}/ask", json={"root": rest.root, "query": "again"}, headers={"accept": "text/event-stream"})
    reply = read_queries(rest)
    kinds = [(record["kind"], record["query"]) for record in reply["queries"]]
    assert kinds == [("ask", "again"), ("ask", QUESTION), ("context", "rounding"), ("search", QUESTION)]
    assert (reply["total"], reply["is_recording"]) == (4, True)
    record = reply["queries"][-1]
    assert record["results"] == [{"location": "money.py:1-3", "name": "round_up"}] and len(hits) == 1
    assert (record["filters"], record["top_k"], record["generation"]) == ({"kinds": ["function"]}, 3, 1)
    assert record["evidence"] == "found" and record["elapsed_ms"] > 0
    assert [item["query"] for item in read_queries(rest, kind="ask")["queries"]] == ["again", QUESTION]


def test_pages_follow_one_another(rest):
    for number in range(5):
        rest.result("/search", query=f"query {number}")
    pages = [read_queries(rest, offset=offset, limit=2)["queries"] for offset in (0, 2, 4)]
    assert [record["query"] for page in pages for record in page] == [f"query {number}" for number in (4, 3, 2, 1, 0)]


def test_typing_and_further_pages_are_not_recorded(rest):
    rest.result("/search", query="rou", record=False)
    rest.result("/search", query="round", top_k=1, offset=1)
    assert read_queries(rest)["total"] == 0


def test_one_and_all_are_deleted(rest):
    for query in ("one", "two", "three"):
        rest.result("/search", query=query)
    two = read_queries(rest)["queries"][1]["id"]
    remove = lambda **parameters: rest.http.delete(f"{API}/queries", params={"root": rest.root, **parameters}).json()  # noqa: E731
    assert remove(id=two) == {"deleted": 1}
    assert [record["query"] for record in read_queries(rest)["queries"]] == ["three", "one"]
    assert remove() == {"deleted": 2}
    assert read_queries(rest)["queries"] == []


def test_setting_switches_recording_off(rest):
    write_files(Path(rest.root), {".coderag.yaml": "service:\n  record_queries: false\n"})
    rest.result("/search", query=QUESTION)
    reply = read_queries(rest)
    assert (reply["total"], reply["is_recording"]) == (0, False)


def test_search_succeeds_where_nothing_can_be_written(rest, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(QueryLog, "append", fail)
    assert rest.result("/search", query=QUESTION)["hits"]
    monkeypatch.undo()
    assert read_queries(rest)["total"] == 0
