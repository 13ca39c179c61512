"""Replays of recorded searches, after the code or the settings changed."""

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.shop import write_shop

QUERY = "how is a discount applied to the total"


@pytest.fixture
def rag(tmp_path):
    engine = CodeRAG(write_shop(tmp_path / "shop"))
    engine.index()
    return engine


@pytest.fixture
def rest(rag):
    workspace = Workspace(WorkspaceOptions(allowed_roots=(rag.root.parent,), watch=False))
    yield RestClient(make_app(workspace), rag.root)
    workspace.close()


def test_a_replay_shows_what_a_change_of_the_code_moved(rest, rag):
    rest.result("/search/preview", query=QUERY)
    rest.result("/search/preview", query="charge", record=False)  # still being typed
    rest.result("/search/preview", query=QUERY, filters={"roles": ["test"]})
    reply = rest.result("/queries/replay")
    assert [(replay["query"], replay["is_changed"], replay["error"]) for replay in reply["replays"]] == [
        (QUERY, False, ""), (QUERY, False, ""),
    ]  # fmt: skip
    assert {move["change"] for replay in reply["replays"] for move in replay["moves"]} == {"same"}

    source = rag.root / "shop" / "discount.py"
    source.write_text("# moved down\n" * 5 + source.read_text().replace("apply_discount", "lower"), encoding="utf-8")
    rag.index()
    after = rest.result("/queries/replay", ids=[reply["replays"][1]["id"]])
    (replay,) = after["replays"]
    changes = {move["name"]: move["change"] for move in replay["moves"]}
    assert (changes["lower"], changes["apply_discount"]) == ("new", "gone")
    assert (after["changed"], after["generation"] > replay["generation"]) == (1, True)


def test_a_replay_with_other_settings_shows_what_they_would_move(rest):
    rest.result("/search/preview", query=QUERY)
    ranking = {"weights": {"role": 0, "kind": 5}, "disabled_signals": ["lexical", "dense"]}
    (replay,) = rest.result("/queries/replay", ranking=ranking)["replays"]
    assert replay["is_changed"]
    assert rest.post("/queries/replay", ranking={"weights": {"luck": 1}}).status_code == 422


def test_what_cannot_be_replayed_says_why(rest):
    rest.result("/search/preview", query="discount " * 600)
    assert "too long" in rest.result("/queries/replay")["replays"][0]["error"]
    assert rest.post("/queries/replay", ids=["abc"]).status_code == 404
    assert rest.http.get(f"{API}/queries", params={"root": rest.root}).json()["total"] == 1
