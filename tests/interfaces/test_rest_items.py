"""Mirrored pages and tickets over REST."""

import pytest

from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.mirrors import build_shop


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    root = tmp_path_factory.mktemp("rest") / "shop"
    build_shop(root).close()
    workspace = Workspace(WorkspaceOptions(allowed_roots=(root.parent,), watch=False))
    yield RestClient(make_app(workspace), root)
    workspace.close()


def get(rest, route, /, **query):
    return rest.http.get(API + route, params={"root": rest.root, **query})


def test_question_finds_items_with_their_best_section(rest):
    reply = get(rest, "/items", q="how do I undo a broken deployment").json()
    assert (reply["hits"][0]["item"]["id"], reply["hits"][0]["heading"]) == ("101", "Rolling back a release")
    assert reply["evidence"] == "found"


def test_without_a_question_items_are_listed_by_page(rest):
    first = get(rest, "/items", limit=3).json()
    assert [item["id"] for item in first["items"]] == ["SHOP-46", "101", "SHOP-45"]
    last = get(rest, "/items", limit=3, offset=first["next_offset"]).json()
    assert ([item["id"] for item in last["items"]], last["next_offset"]) == (["102"], None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"types": ["Bug", "Story"], "states": "done"}, ["SHOP-45"]),
        ({"scope": "backlog", "since": "2026-03-15T00:00:00Z"}, ["SHOP-46"]),
        ({"people": "ada lovelace"}, ["SHOP-45"]),
        ({"kinds": "page", "tags": "people"}, ["102"]),
    ],
)
def test_filters_are_parameters(rest, query, expected):
    assert [item["id"] for item in get(rest, "/items", **query).json()["items"]] == expected


def test_item_is_read_by_id_with_what_it_names(rest):
    reply = get(rest, "/items/shop-45").json()
    assert reply["item"]["url"] == "https://example.atlassian.net/browse/SHOP-45"
    assert {entry["path"] for entry in reply["references"]} == {"shop/cart.py", "shop/money.py"}


@pytest.mark.parametrize(
    ("route", "query", "status"),
    [
        ("/items/SHOP-99", {}, 404),
        ("/items/a/b/c", {}, 404),
        ("/items/SHOP-45", {"page": 9}, 404),
        ("/items/SHOP-45", {"page_tokens": 1}, 422),
        ("/items", {"types": "Epic"}, 422),
        ("/items", {"limit": 101}, 422),
        ("/items", {"since": "yesterday"}, 422),
        ("/items", {"colour": "red"}, 422),
    ],
)
def test_bad_requests_are_refused(rest, route, query, status):
    reply = get(rest, route, **query)
    assert reply.status_code == status
    assert reply.json()["title"]
