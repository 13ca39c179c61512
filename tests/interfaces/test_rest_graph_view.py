"""Pictures of the code graph over REST."""

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import RestClient
from tests.support.corpora import write_files

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "import json\n\nfrom shop.money import round_up\n\n\n"
        "class Cart:\n    def total(self):\n        return round_up(self.sum)\n"
    ),
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_it():\n    assert round_up(1) == 1\n",
    "<script>alert(1)<": "not code\n",
    "odd/a b&c'\".py": "def odd():\n    return 1\n",
}
VIEW = "/graph/view"


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    engine = CodeRAG(write_files(tmp_path_factory.mktemp("view") / "shop", FILES))
    engine.index()
    workspace = Workspace(WorkspaceOptions(allowed_roots=(engine.root.parent,), watch=False))
    yield RestClient(make_app(workspace), engine.root)
    workspace.close()


def test_the_overview_opens_folders_on_request_and_stores_its_layout(rest):
    closed = rest.result(f"{VIEW}/overview", opened=[])
    assert {"shop/", "tests/", "odd/", "::"} <= {node["key"] for node in closed["nodes"]}
    opened = rest.result(f"{VIEW}/overview", opened=["shop/", "shop/cart.py"])
    assert opened["opened"] == ["shop/", "shop/cart.py"]
    names = [node["key"] for node in opened["nodes"]]
    edges = {(names[edge["source"]], names[edge["target"]]): edge["relations"] for edge in opened["edges"]}
    assert edges["shop/cart.py::Cart", "shop/money.py"]["calls"] == 1
    places = {node["key"]: (node["x"], node["y"]) for node in opened["nodes"]}
    assert all(places[node["key"]] == (node["x"], node["y"]) for node in closed["nodes"])


def test_file_names_with_markup_are_keys_like_others(rest):
    keys = {node["key"] for node in rest.result(f"{VIEW}/overview", opened=["odd/"])["nodes"]}
    assert "odd/a b&c'\".py" in keys
    assert rest.result(f"{VIEW}/node", name="odd/a b&c'\".py::odd")["node"]["start_line"] == 1


def test_a_neighbourhood_reports_what_it_left_out(rest):
    view = rest.result(f"{VIEW}/neighbourhood", name="round_up", steps=[{"key": "shop/money.py::round_up", "limit": 1}])
    assert view["steps"][0]["drawn"] < view["steps"][0]["total"]


def test_a_node_is_described_with_its_relations(rest):
    details = rest.result(f"{VIEW}/node", name="round_up")
    relations = {(count["relation"], count["direction"]) for count in details["relations"]}
    assert {("calls", "in"), ("imports", "in"), ("tests", "in")} <= relations


def test_given_nodes_are_arranged(rest):
    nodes = [{"key": "shop/cart.py::Cart"}, {"key": "shop/money.py::round_up", "distance": 1}, {"key": "gone.py"}]
    view = rest.result(f"{VIEW}/arrangement", nodes=nodes, arrangement="line")
    assert [node["key"] for node in view["nodes"]] == ["shop/cart.py::Cart", "shop/money.py::round_up"]
    assert view["omitted_nodes"] == 1


def test_names_are_suggested(rest):
    assert rest.result(f"{VIEW}/suggestions", text="round")["nodes"][0]["label"] == "round_up"


def test_a_picture_is_written_as_mermaid_with_labels_made_safe(rest):
    nodes = [{"lines": ['a "quoted" <b>', "x.py:1"], "is_marked": True}, {"lines": ["b"]}]
    edges = [{"source": 0, "target": 1, "label": "calls"}, {"source": 1, "target": 7}]
    reply = rest.http.post(f"/api/v1{VIEW}/mermaid", json={"nodes": nodes, "edges": edges})
    text = reply.json()["text"]
    assert text.startswith("flowchart LR")
    assert '"calls"' in text
    assert "<b>" not in text
    assert "n7" not in text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("overview", {"max_nodes": 2_001}, 422),
        ("overview", {"max_edges": 6_001}, 422),
        ("overview", {"relations": ["likes"]}, 422),
        ("overview", {"min_confidence": 2}, 422),
        ("overview", {"opened": ["x"] * 501}, 422),
        ("neighbourhood", {"name": "gone_away"}, 404),
        ("neighbourhood", {"name": "round_up", "steps": [{"key": "a", "limit": 501}]}, 422),
        ("arrangement", {"nodes": [], "arrangement": "pile"}, 422),
        ("node", {"name": "a\0b"}, 422),
    ],
)
def test_bad_requests_are_refused(rest, path, body, status):
    reply = rest.post(f"{VIEW}/{path}", **body)
    assert reply.status_code == status, reply.text
