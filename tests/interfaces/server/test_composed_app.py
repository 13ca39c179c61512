"""The composed app: accounts of a real database, over real indexes, as each role."""

import json

import pytest

from coderag.interfaces.server import watched_reply
from coderag.server.access.roles import Action, Level, Role, Scope
from coderag.server.storage.models import User
from tests.support.composed_server import ComposedServer
from tests.support.hosted_worlds import IDS, WORDS, build_repositories

SHOP, HIDDEN = IDS[0], IDS[1]
VISIBLE_WORD, HIDDEN_WORD = WORDS[0], WORDS[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory, folder):
    data = tmp_path_factory.mktemp("server")
    (data / "repositories").symlink_to(folder)
    server = ComposedServer(data)
    server.host(SHOP, VISIBLE_WORD)
    server.host(HIDDEN, HIDDEN_WORD)
    yield server
    server.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosted")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
        build_repositories(folder, 2)
    return folder


@pytest.fixture(autouse=True)
def _own_index(folder, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))


def search(word):
    return ("POST", "/api/v1/search", {"root": word, "query": f"settle_{word}"})


def statuses(replies):
    return [reply.status for reply in replies]


def test_member_finds_in_what_is_granted_and_nothing_else(server):
    key = server.create_key(server.create_member("Ada", {SHOP: Level.READ}))
    found, hidden, missing = server.send(key, [search(VISIBLE_WORD), search(HIDDEN_WORD), search("nothing")])
    assert json.loads(found.body)["hits"][0]["name"] == f"settle_{VISIBLE_WORD}"
    assert (hidden.status, missing.status) == (404, 404)
    assert hidden.body.replace(HIDDEN_WORD.encode(), b"nothing") == missing.body


def test_lists_name_only_visible_repositories(server):
    key = server.create_key(server.create_member("Ada", {SHOP: Level.INDEX}))
    replies = server.send(
        key,
        [("GET", f"/api/v1{path}", None) for path in ("/repositories", "/server/repositories", "/server/me", "/jobs")],
    )
    text = b"".join(reply.body for reply in replies)
    assert statuses(replies) == [200] * 4
    assert VISIBLE_WORD.encode() in text
    assert HIDDEN_WORD.encode() not in text
    assert HIDDEN.encode() not in text


def test_hidden_and_missing_repositories_are_administered_alike(server):
    key = server.create_key(server.create_member("Ada", {SHOP: Level.ADMINISTER}))
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/sync"), ("GET", "/sources")):
        hidden, missing = server.send(
            key,
            [
                (method, f"/api/v1/server/repositories/{each}{path}", {} if method == "PATCH" else None)
                for each in (HIDDEN, "f" * 32)
            ],
        )
        assert hidden.status == missing.status, (method, path)
        assert hidden.body.replace(HIDDEN.encode(), b"f" * 32) == missing.body


@pytest.mark.parametrize(
    ("level", "expected"),
    [(Level.READ, [200, 403, 403]), (Level.INDEX, [200, 202, 403]), (Level.ADMINISTER, [200, 202, 200])],
)
def test_level_of_a_grant_decides(server, level, expected):
    key = server.create_key(server.create_member("Ada", {SHOP: level}))
    replies = server.send(
        key,
        [
            search(VISIBLE_WORD),
            ("POST", f"/api/v1/server/repositories/{SHOP}/sync", None),
            ("GET", f"/api/v1/settings?root={VISIBLE_WORD}", None),
        ],
    )
    assert statuses(replies) == expected


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role.ADMIN, [200, 200, 403, 200]),
        (Role.MEMBER, [200, 403, 403, 403]),
        (Role.VIEWER, [200, 403, 403, 403]),
        (Role.AUDITOR, [403, 200, 200, 403]),
    ],
)
def test_role_decides(server, role, expected):
    key = server.create_key(server.create_member("Ada", {SHOP: Level.ADMINISTER}, role))
    replies = server.send(
        key,
        [search(VISIBLE_WORD), *(("GET", f"/api/v1/server/{name}", None) for name in ("users", "audit", "settings"))],
    )
    assert statuses(replies) == expected


def test_scope_and_binding_of_a_key_limit_its_account(server):
    user = server.create_member("Ada", {SHOP: Level.ADMINISTER, HIDDEN: Level.ADMINISTER})
    reading = server.create_key(user, [Scope.READ])
    bound = server.create_key(user, repository_ids=[SHOP])
    sync = ("POST", f"/api/v1/server/repositories/{SHOP}/sync", None)
    assert statuses(server.send(reading, [search(VISIBLE_WORD), sync])) == [200, 403]
    assert statuses(server.send(bound, [search(VISIBLE_WORD), search(HIDDEN_WORD), sync])) == [200, 404, 202]


def test_nobody_is_served_without_a_key(server):
    replies = server.send("", [search(VISIBLE_WORD), ("GET", "/openapi.json", None), ("POST", "/mcp", {})])
    assert statuses(replies) == [401, 401, 401]
    assert all("www-authenticate" in reply.headers for reply in replies)
    assert statuses(server.send("cr_" + "0" * 12 + "_wrong", [search(VISIBLE_WORD)])) == [401]


def test_disabled_account_is_refused_at_once(server):
    user = server.create_member("Ada", {SHOP: Level.READ})
    key = server.create_key(user)
    assert statuses(server.send(key, [search(VISIBLE_WORD)])) == [200]
    with server.context.database.begin() as session:
        session.get(User, user).is_active = False
    assert statuses(server.send(key, [search(VISIBLE_WORD)])) == [401]


def test_reads_and_refusals_are_recorded_without_the_question(server):
    key = server.create_key(server.create_member("Ada", {SHOP: Level.READ}))
    before = len(server.read_audit())
    server.send(key, [search(VISIBLE_WORD), search(HIDDEN_WORD)])
    allowed, denied = server.read_audit()[before:]
    assert (allowed.action, allowed.repository_id, allowed.outcome) == (Action.REPOSITORY_READ, SHOP, "allowed")
    assert (denied.repository_id, denied.outcome) == ("", "denied")
    assert f"settle_{VISIBLE_WORD}" not in allowed.detail
    assert server.context.audit.verify().is_intact


def test_request_cannot_name_another_repository_in_its_entry(server):
    key = server.create_key(server.create_member("Ada", {SHOP: Level.READ, HIDDEN: Level.READ}))
    before = len(server.read_audit())
    replies = server.send(
        key,
        [
            ("GET", f"/api/v1/tree?root={VISIBLE_WORD}", {"root": HIDDEN_WORD}),
            ("GET", f"/api/v1/tree?root={VISIBLE_WORD}&repository=forged&text=forged", None),
            ("POST", f"/api/v1/search?root={HIDDEN_WORD}", search(VISIBLE_WORD)[2]),
        ],
    )
    entries = server.read_audit()[before:]
    assert statuses(replies) == [200] * 3
    assert [entry.repository_id for entry in entries] == [SHOP] * 3
    assert not any("forged" in entry.detail or "question" in entry.detail for entry in entries[:2])


def test_streams_of_one_caller_leave_places_for_others(tmp_path, folder):
    import asyncio

    (tmp_path / "repositories").symlink_to(folder)
    server = ComposedServer(tmp_path, limits={"concurrent_requests": 4, "account_concurrent_requests": 2})
    server.host(SHOP, VISIBLE_WORD)
    key = server.create_key(server.create_member("Ada", {SHOP: Level.READ}))

    async def stream(statuses, closing):
        """Request an event stream, and leave when it is time to."""
        scope = {
            "type": "http", "method": "GET", "path": "/api/v1/freshness/events", "raw_path": b"", "scheme": "http",
            "query_string": f"root={VISIBLE_WORD}".encode(), "root_path": "", "http_version": "1.1", "client": ("127.0.0.1", 1),
            "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {key}".encode())],
        }  # fmt: skip
        has_body = False

        async def receive():
            nonlocal has_body
            if not has_body:
                has_body = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await closing.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                statuses.put_nowait(message["status"])

        await server._app(scope, receive, send)

    async def run():
        statuses, closing = asyncio.Queue(), asyncio.Event()
        tasks = [asyncio.create_task(stream(statuses, closing)) for _ in range(4)]
        begun = [await statuses.get() for _ in tasks]
        other = (await server._send(server.owner_key, [("GET", "/api/v1/server/me", None)]))[0].status
        closing.set()
        await asyncio.gather(*tasks)
        after = (await server._send(key, [("GET", "/api/v1/server/me", None)]))[0].status
        return sorted(begun), other, after

    try:
        assert asyncio.run(run()) == ([200, 200, 429, 429], 200, 200)
    finally:
        server.close()


def test_request_is_refused_if_it_cannot_be_recorded(server, monkeypatch):
    from coderag.errors import DatabaseUnavailableError

    key = server.create_key(server.create_member("Ada", {SHOP: Level.READ}))

    def fail(*_args, **_values):
        raise DatabaseUnavailableError("the database does not answer")

    monkeypatch.setattr(server.context.audit, "record_repositories", fail)
    (reply,) = server.send(key, [search(VISIBLE_WORD)])
    assert reply.status == 503
    assert int(reply.headers["retry-after"]) > 0


def test_routes_of_the_local_service_alone_are_not_served(server):
    replies = server.send(
        server.owner_key,
        [
            ("GET", f"/api/v1/queries?root={VISIBLE_WORD}", None),
            ("DELETE", f"/api/v1/repositories?root={VISIBLE_WORD}", None),
            ("POST", "/service/stop", None),
        ],
    )
    assert statuses(replies)[:2] == [404, 404]
    assert replies[2].status in (404, 405)


def test_replies_are_stored_by_no_browser(server):
    replies = server.send(server.owner_key, [search(VISIBLE_WORD), search("nothing"), ("GET", "/nowhere", None)])
    assert {reply.headers["cache-control"] for reply in replies} == {"no-store"}
    assert {reply.headers["x-content-type-options"] for reply in replies} == {"nosniff"}


def test_foreign_host_and_page_are_refused(server):
    import asyncio

    import httpx

    async def send(headers):
        transport = httpx.ASGITransport(server._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            return (await client.get("/api/v1/health")).status_code

    assert asyncio.run(send({"host": "evil.example"})) == 421
    assert asyncio.run(send({"origin": "https://evil.example"})) == 403
    assert asyncio.run(send({})) == 200


@pytest.mark.parametrize("is_signed_in", [False, True])
def test_request_that_ends_its_own_rights_is_answered(server, monkeypatch, is_signed_in):
    """Other replies are withheld once the rights of their caller have gone."""
    monkeypatch.setattr(watched_reply, "CHECK_INTERVAL_S", 0.0)
    account = server.create_member("Zoe", {SHOP: Level.READ})
    key = server.create_key(account)
    [listed] = server.send(key, [("GET", "/api/v1/server/keys", None)])
    [own] = json.loads(listed.body)["items"]
    if not is_signed_in:
        replies = server.send(key, [("DELETE", f"/api/v1/server/keys/{own['id']}", None), search(VISIBLE_WORD)])
        assert statuses(replies) == [204, 401]
        return
    assert statuses(server.sign_in_and_out(key, search(VISIBLE_WORD))) == [200, 200, 401]
