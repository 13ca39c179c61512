"""Sources of a hosted repository from their settings to answers: who finds their items, and who finds no trace of them."""

import json
import re

import pytest

from coderag import CodeRAG
from coderag.server.access.catalogue import get_checkout
from coderag.server.access.roles import Level
from coderag.sources.connector_table import CONNECTORS
from tests.support.composed_server import ComposedServer
from tests.support.corpora import write_files
from tests.support.hosted_worlds import IDS
from tests.support.item_server import ItemServer
from tests.support.mirrors import CODE

KEY = "key-of-the-tracker"  # made up
SHOP = IDS[0]
SOURCES = f"/api/v1/server/repositories/{SHOP}/sources"
TEXT = "Customers complain that sums are cut off by the quorum rule."
QUESTION = "which ticket is about the quorum rule?"
ASKED = {"root": "shop", "query": QUESTION}
REQUESTS = [
    ("POST", "/api/v1/ask", ASKED),
    ("POST", "/api/v1/search", ASKED),
    ("POST", "/api/v1/search", {"root": "shop", "query": "Cart.total"}),
    ("POST", "/api/v1/search/text", {"root": "shop", "text": "quorum"}),
    ("POST", "/api/v1/context", ASKED),
    ("POST", "/api/v1/explain", ASKED),
    ("GET", "/api/v1/items?root=shop&q=quorum+rule", None),
    ("GET", "/api/v1/items/ITEM-1?root=shop", None),
    ("GET", "/api/v1/status?root=shop", None),
    ("GET", "/api/v1/coverage?root=shop", None),
    ("GET", "/api/v1/search/options?root=shop", None),
    ("GET", SOURCES, None),
    ("GET", "/api/v1/server/repositories", None),
]
_VARYING = re.compile(rb'"(?:id|[a-z_]*ms|start_ns)":(?:"[^"]*"|[0-9.e+-]+|null)|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.+]*')
"""Values that differ between two requests of the same person."""


@pytest.fixture
def tracker(monkeypatch):
    monkeypatch.setitem(CONNECTORS, "jira", "tests.support.item_server:open_item_server")
    with ItemServer(KEY) as tracker:
        tracker.add_item("Totals are a cent too low", TEXT)
        yield tracker


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
        root = get_checkout(folder / "repositories", SHOP)
        write_files(root, CODE)
        with CodeRAG(root) as rag:
            rag.index()
        server = ComposedServer(folder, repositories={"allowed_hosts": ("127.0.0.1",)})
        server.host(SHOP, "shop")
        yield server
        server.close()


@pytest.fixture
def server(shared_server, monkeypatch):
    """The server; sources of a test are gone before the next one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(shared_server.settings.data / "home"))
    yield shared_server
    (listed,) = shared_server.send(shared_server.owner_key, [("GET", SOURCES, None)])
    if names := [source["name"] for source in json.loads(listed.body)["items"]]:
        shared_server.send(shared_server.owner_key, [("DELETE", f"{SOURCES}/{name}", None) for name in names])
        shared_server.run_source_job(SHOP)


def put(server, tracker, name="tracker", token=KEY, **settings):
    values = {"address": tracker.address, "user": "a@b.example", "projects": ["SHOP"], **settings}
    body = {"system": "jira", "settings": values, "token": token}
    (reply,) = server.send(server.owner_key, [("PUT", f"{SOURCES}/{name}", body)])
    assert reply.status == 200, reply.body
    return json.loads(reply.body)["id"]


def get(server, key, path):
    (reply,) = server.send(key, [("GET", path, None)])
    return reply


def send_all(server, key):
    return [(reply.status, _VARYING.sub(b"", reply.body)) for reply in server.send(key, REQUESTS)]


def count_mirrored(server, text):
    """Count the mirrored files with a text."""
    return sum(text in path.read_text() for path in server.settings.data.rglob("*.md"))


def test_restricted_source_answers_one_user_and_changes_no_byte_for_the_other(server, tracker):
    ada = server.create_member("Ada", {SHOP: Level.READ})
    ada_key = server.create_key(ada)
    bob_key = server.create_key(server.create_member("Bob", {SHOP: Level.READ}))
    before = send_all(server, bob_key)  # a repository without a source
    assert [status for status, _ in before].count(200) >= 10
    server.grant_source(put(server, tracker), ada)
    job = server.run_source_job(SHOP)
    assert (job.state, job.source_errors) == ("done", {})

    replies = server.send(ada_key, REQUESTS)
    found = {path: reply.body for (_, path, _), reply in zip(REQUESTS, replies, strict=True)}
    for path in ("/api/v1/ask", "/api/v1/items?root=shop&q=quorum+rule", "/api/v1/items/ITEM-1?root=shop"):
        assert b"Totals are a cent too low" in found[path], path
    (source,) = json.loads(found[SOURCES])["items"]
    assert (source["name"], source["items"], source["error"], source["settings"]) == ("tracker", 1, "", None)
    assert send_all(server, bob_key) == before


def test_source_that_fails_is_named_in_a_job_that_succeeds(server, tracker):
    ada = server.create_member("Ada", {SHOP: Level.READ})
    ada_key = server.create_key(ada)
    bob_key = server.create_key(server.create_member("Bob", {SHOP: Level.READ}))
    server.grant_source(put(server, tracker, "broken", token="a wrong key"), ada)
    put(server, tracker)
    job = server.run_source_job(SHOP)
    assert (job.state, job.error, list(job.source_errors)) == ("done", "", ["broken"])
    path = f"/api/v1/server/jobs/{job.id}"
    shown = json.loads(get(server, ada_key, path).body)["source_errors"]["broken"]
    assert "refused the key" in shown
    assert json.loads(get(server, bob_key, path).body)["source_errors"] == {}
    states = {source["name"]: source for source in json.loads(get(server, ada_key, SOURCES).body)["items"]}
    assert (states["broken"]["error"], states["broken"]["synced_at"]) == (shown, None)
    assert (states["tracker"]["items"], states["tracker"]["error"]) == (1, "")
    assert get(server, bob_key, "/api/v1/items/ITEM-1?root=shop").status == 200


def test_items_of_changed_and_removed_settings_are_found_by_nobody(server, tracker):
    key = server.create_key(server.create_member("Ada", {SHOP: Level.READ}))
    item = "/api/v1/items/ITEM-1?root=shop"
    put(server, tracker)
    server.run_source_job(SHOP)
    assert get(server, key, item).status == 200
    put(server, tracker, token=None, projects=["PAY"])
    assert get(server, key, item).status == 404
    tracker.delete_item("ITEM-1")
    tracker.add_item("Refunds are slow", "They take a week.")
    server.run_source_job(SHOP)
    assert get(server, key, item).status == 404
    assert get(server, key, "/api/v1/items/ITEM-2?root=shop").status == 200
    assert (count_mirrored(server, TEXT), count_mirrored(server, "They take a week.")) == (0, 1)
    server.send(server.owner_key, [("DELETE", f"{SOURCES}/tracker", None)])
    assert get(server, key, "/api/v1/items/ITEM-2?root=shop").status == 404
    server.run_source_job(SHOP)
    assert count_mirrored(server, "They take a week.") == 0
