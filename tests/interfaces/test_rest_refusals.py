"""What the REST interface says of requests that it cannot serve: a status of the caller's, a problem that tells, a hint."""

import json
import threading
from types import SimpleNamespace

import pytest

from coderag.config.settings import Settings
from coderag.errors import AmbiguousNameError, CodeRAGError
from coderag.interfaces.error_table import ERROR_TABLE
from coderag.interfaces.rest.app import make_app
from coderag.interfaces.rest.strict_route import MAX_BODY_BYTES
from coderag.schema.graph import GraphDeclaration
from coderag.schema.search import SearchHits
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, FakeWorkspace, RestClient

DEADLINE_S = 20


class Engine:
    """Finds nothing, unless it is told to fail or to wait."""

    settings = Settings()

    def __init__(self, error=None):
        self.error = error
        self.go_on = threading.Event()
        self.go_on.set()
        self.started = threading.Event()

    def search(self, query, *, top_k=None, filters=None):
        self.started.set()
        assert self.go_on.wait(DEADLINE_S)
        if self.error:
            raise self.error
        return SearchHits()

    def definition(self, name):
        return []

    search_text = explain = status = search


@pytest.fixture
def rest():
    return RestClient(make_app(FakeWorkspace(Engine())), "/shop")


def failing(error):
    return RestClient(make_app(FakeWorkspace(Engine(error))), "/shop")


@pytest.fixture
def real(tmp_path):
    (tmp_path / "allowed" / "shop").mkdir(parents=True)
    workspace = Workspace(WorkspaceOptions(allowed_roots=(tmp_path / "allowed",), watch=False))
    yield RestClient(make_app(workspace), tmp_path / "allowed" / "shop")
    workspace.close()


def all_errors(base=CodeRAGError):
    return {base}.union(*(all_errors(child) for child in base.__subclasses__() if child.__module__ == "coderag.errors"))


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("/search", {"querry": "x"}, "query, record, root, "),
        ("/search/text", {"query": "x"}, "root, text, regex"),
        ("/graph/cycles", {"of": "files"}, "level"),
    ],
)
def test_a_field_that_there_is_not_is_told_with_those_that_there_are(rest, path, body, fields):
    reply = rest.post(path, **body)
    assert reply.status_code == 422
    assert reply.json()["hint"].startswith("Known fields: ")
    assert fields in reply.json()["hint"]


@pytest.mark.parametrize("kind", sorted(all_errors(), key=lambda kind: kind.__name__))
def test_an_error_is_told_with_its_class_its_status_and_its_hint(kind):
    reply = failing(kind("the disk is gone", hint="Mount it.")).post("/search", query="x")
    told = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.status_code == told["status"] == ERROR_TABLE[kind].status
    assert (told["type"], told["detail"], told["hint"], told["retryable"]) == (
        kind.__name__, "the disk is gone", "Mount it.", kind.retryable
    )  # fmt: skip


def test_what_may_succeed_later_says_when_to_try_again():
    replies = {kind: failing(kind("busy")).post("/search", query="x") for kind in ERROR_TABLE if kind.retryable}
    waits = {kind.__name__: reply.headers["retry-after"] for kind, reply in replies.items()}
    assert (waits.pop("QuotaExceededError"), waits.pop("DatabaseUnavailableError")) == ("60", "5")
    assert waits
    assert set(waits.values()) == {"1"}


def test_an_ambiguous_name_comes_with_what_it_may_mean():
    candidate = GraphDeclaration("a.py::login", "login", "function", "a.py", 1, 2)
    told = failing(AmbiguousNameError("several", candidates=[candidate])).post("/search", query="x").json()
    assert [GraphDeclaration(**one) for one in told["candidates"]] == [candidate]


def test_a_fault_is_told_without_what_is_inside():
    reply = failing(KeyError("secret")).post("/search", query="x")
    assert (reply.status_code, reply.json()["type"]) == (500, "InternalError")
    assert "secret" not in reply.text


def test_a_repository_that_is_not_indexed_says_how_to_begin(real):
    reply = real.post("/search", query="x")
    assert (reply.status_code, reply.json()["type"]) == (404, "IndexNotFoundError")
    assert "/api/v1/index" in reply.json()["next"]


@pytest.mark.parametrize("root", ["/", "/etc", "/no/such/place", "/proc/self/cwd", "/" + "a" * 4000, "/" + "a/" * 2000])
def test_a_folder_that_may_not_be_opened_is_the_callers_fault(real, root):
    assert 400 <= real.post("/search", query="x", root=root).status_code < 500


def test_a_link_out_of_the_allowed_folders_is_refused(real, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "allowed" / "link"
    link.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert real.post("/search", query="x", root=str(link)).json()["type"] == "ForbiddenRootError"


@pytest.mark.parametrize("root", [".", "..", "../..", "~", "shop/../..", "no-such-name"])
def test_a_relative_path_is_no_repository(real, root):
    assert real.post("/search", query="x", root=root).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"null", 422),
        (b"[]", 422),
        (b"\xff\xfe", 400),
        (b'\xef\xbb\xbf{"root": "/shop", "query": "x"}', 400),
        (b'{"root": "/shop", "query": "\xff"}', 400),
        (b'{"root": "/shop", "query": "x", "query": "y"}', 400),
        (b'{"root": "/shop", "query": "x", "filters": {"roles": [], "roles": []}}', 400),
        (b'{"root": "/shop", "query": "x", "top_k": NaN}', 400),
        (b'{"root": "/shop", "query": "x", "top_k": Infinity}', 400),
        (b'{"root": "/shop", "query": "x", "top_k": 1e999}', 400),
        (b'{"root": "/shop", "query": "x", "top_k": ' + b"9" * 10_000 + b"}", 400),
        (b'{"root": "/shop", "query": "x", "top_k": 99999999999999999999999}', 422),
        (b'{"root": "/shop", "query": "x", "top_k": -1}', 422),
        (b'{"root": "/shop", "query": "x", "top_k": "3"}', 422),
        (b'{"root": "/shop", "query": "x", "top_k": true}', 422),
        (b'{"root": "/shop", "query": "x", "offset": 200}', 422),
        (b'{"root": "/shop", "query": ""}', 422),
        (b'{"root": "/shop", "query": 3}', 422),
        (b'{"root": "/shop", "query": "\\u0000"}', 422),
        (b'{"root": "/sh\\u0000op", "query": "x"}', 422),
        (b'{"root": "/shop", "query": "\\ud800"}', 422),
        (b'{"root": "/shop", "query": "x", "\\ud800": 1}', 422),
        (b'{"root": "/shop", "query": "x", "more": 1}', 422),
        (b'{"query": "x"}', 422),
        (b'{"root": "/shop", "repositories": ["/shop"], "query": "x"}', 422),
        (b'{"repositories": [], "query": "x"}', 422),
        (b'{"root": "/shop", "query": "x", "filters": {"kinds": ["poem"]}}', 422),
        (b'{"root": "/shop", "query": "x", "filters": {"complexity": [1, 2, 3]}}', 422),
        (b'{"root": "/shop", "query": "x", "filters": {"paths": ["**a**a**a**a**a**b"]}}', 422),
        (b'{"root": "/shop", "query": "x", "filters": ' + b"[" * 900 + b"]" * 900 + b"}", 422),
        (b"[" * 100_000, 400),
        (b'{"a":' * 100_000, 400),
        (b'{"root": "/shop", "query": "' + b"x" * 64_001 + b'"}', 422),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_a_body_that_is_not_as_described_is_refused_with_a_reason(rest, body, status):
    reply = rest.send("/search", body)
    assert reply.status_code == status, reply.text
    assert reply.json()["type"] == "InvalidRequestError"
    assert reply.json()["detail"]


def test_a_question_of_too_many_bytes_is_refused_by_the_engine(real):
    reply = real.post("/search", query="é" * 64_000)
    assert (reply.status_code, reply.json()["type"]) == (422, "InvalidQueryError")


def test_a_body_that_is_too_large_is_refused(rest):
    assert rest.send("/search", b" " * (MAX_BODY_BYTES + 1)).status_code == 413


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x"]
)
def test_a_body_that_does_not_say_that_it_is_json_is_refused(rest, content_type):
    assert rest.send("/search", b'{"root": "/shop", "query": "x"}', content_type).status_code == 415


def test_json_of_another_name_is_json(rest):
    body = json.dumps({"root": "/shop", "query": "x"}).encode()
    assert rest.send("/search", body, "application/vnd.shop+json; charset=utf-8").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", f"{API}/nothing", 404),
        ("GET", f"{API}/search", 405),
        ("GET", f"{API}/search/", 404),
        ("POST", f"{API}/graph/enemies", 422),
        ("GET", f"{API}/jobs/none", 404),
        ("DELETE", f"{API}/jobs/none", 404),
        ("GET", f"{API}/jobs/none/events", 404),
        ("GET", f"{API}/jobs/a%00b", 422),
        ("GET", f"{API}/jobs/..%2F..%2Fetc", 404),
        ("GET", f"{API}/status", 422),
        ("GET", f"{API}/status?root=%00", 422),
        ("GET", f"{API}/status?root=%ff", 404),
        ("DELETE", f"{API}/sessions/%2E%2E?root=/shop", 422),
        ("DELETE", f"{API}/sessions/-x?root=/shop", 422),
    ],
)
def test_an_address_that_is_none_is_refused_as_a_problem(rest, method, path, status):
    reply = rest.http.request(method, path, json={"root": "/shop", "name": "x"} if method == "POST" else None)
    assert reply.status_code == status
    assert reply.json()["status"] == status


def test_a_method_that_is_not_served_says_which_are(rest):
    assert rest.http.get(f"{API}/search").headers["allow"] == "POST"


def test_what_takes_too_long_is_given_up():
    engine = Engine()
    engine.go_on.clear()
    rest = RestClient(make_app(FakeWorkspace(engine), request_s=0.05), "/shop")
    try:
        reply = rest.post("/search", query="x")
    finally:
        engine.go_on.set()
    assert (reply.status_code, reply.json()["type"]) == (503, "ServiceError")
    assert "0 s" not in reply.json()["hint"]


def test_what_finds_no_turn_in_time_is_told_to_come_again():
    engine = Engine()
    engine.go_on.clear()
    workspace = FakeWorkspace(engine)
    rest = RestClient(make_app(workspace, request_s=0.2), "/shop")
    try:
        replies = [rest.post("/search", query="x") for _ in range(6)]  # those that were given up keep their places
    finally:
        engine.go_on.set()
    assert {reply.json()["type"] for reply in replies[:4]} == {"ServiceError"}
    assert (replies[-1].status_code, replies[-1].json()["type"]) == (429, "ServiceBusyError")


def test_long_runs_do_not_keep_short_ones_waiting():
    engine = Engine()
    engine.go_on.clear()
    app = make_app(FakeWorkspace(engine), request_s=0.2)
    rest = RestClient(app, "/shop")
    engine.search_text = lambda *_, **__: engine.search("")
    try:
        assert {rest.post("/search/text", text="x").status_code for _ in range(5)} == {503, 429}
        assert rest.post("/definition", name="x").status_code == 200
    finally:
        engine.go_on.set()


def test_a_repository_is_held_open_while_it_is_asked():
    engine = Engine()
    workspace = FakeWorkspace(engine)
    seen = []
    engine.search = lambda *_, **__: seen.append(workspace.uses) or SearchHits()
    RestClient(make_app(workspace), "/shop").result("/search", query="x")
    assert (seen, workspace.uses) == ([1], 0)


def test_text_that_is_no_unicode_is_spelt_out():
    engine = Engine()
    engine.search = lambda *_, **__: SearchHits(not_indexed=["caf\udce9.py: binary"])
    reply = RestClient(make_app(FakeWorkspace(engine)), "/shop").result("/search", query="x")
    assert reply["not_indexed"] == ["caf\\udce9.py: binary"]


def test_a_number_that_is_none_is_null():
    engine = Engine()
    engine.search = lambda *_, **__: SearchHits(confidence=float("nan"))
    reply = RestClient(make_app(FakeWorkspace(engine)), "/shop").result("/search", query="x")
    assert reply["confidence"] is None


def test_a_known_name_stands_for_its_folder():
    workspace = FakeWorkspace(Engine())
    workspace.list_repositories = lambda: [SimpleNamespace(name="shop", root="/shop")]
    assert RestClient(make_app(workspace), "shop").post("/search", query="x").status_code == 200
