"""Authentication of requests over HTTP: keys, cookies, CSRF, other pages, and the slowing of guesses."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from coderag.errors import DatabaseUnavailableError
from coderag.server.access.roles import Action, Level, Role
from coderag.server.identity.sessions import GRACE, ROTATION
from coderag.server.identity.throttle import FREE_FAILURES
from tests.support.identity_world import IdentityWorld

WRONG_KEY = "cr_000000000000_" + "x" * 43


@pytest.fixture
def http(world: IdentityWorld) -> TestClient:
    return TestClient(world.build_app())


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def sign_in(world: IdentityWorld, http: TestClient, *scopes: str) -> dict[str, Any]:
    """Sign a new account in with a key, and return the session."""
    secret = world.create_key(world.add_user(), *(scopes or ("read", "index", "administer"))).secret
    reply = http.post("/web/session", json={"key": secret})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_key_identifies_its_account_on_api_and_mcp(world: IdentityWorld, http: TestClient) -> None:
    secret = world.create_key(world.add_user()).secret
    for path in ("/api/who", "/mcp"):
        for scheme in ("Bearer", "bearer", "BEARER"):
            reply = http.post(path, headers={"authorization": f"{scheme} {secret}"})
            assert reply.json() == {"name": "ada", "kind": "key", "scopes": ["read"]}
    assert http.get("/api/who").json() == {"name": None}


@pytest.mark.parametrize(
    "value",
    [
        f"Bearer {WRONG_KEY}",
        "Bearer",
        "Bearer x",
        "Basic YTpi",
        "",
        "Bearer a.b.c",
        f"Token {WRONG_KEY}",
        "Bearer " + "x" * 20_000,
    ],
)
def test_wrong_credentials_are_refused_and_recorded(world: IdentityWorld, http: TestClient, value: str) -> None:
    reply = http.get("/api/who", headers={"authorization": value})
    assert reply.status_code == 401
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["type"] == "AuthenticationError"
    assert reply.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    (entry,) = world.audit.entries
    assert (entry["action"], entry["outcome"], entry["address"]) == ("authenticate", "denied", "testclient")
    assert WRONG_KEY not in str(entry)


def test_two_authorization_headers_are_refused(world: IdentityWorld, http: TestClient) -> None:
    secret = world.create_key(world.add_user()).secret
    headers = [("authorization", f"Bearer {secret}"), ("authorization", f"Bearer {secret}")]
    assert http.get("/api/who", headers=headers).status_code == 401


def test_expired_revoked_and_disabled_are_told_to_the_holder_of_the_key(world: IdentityWorld, http: TestClient) -> None:
    user = world.add_user()
    created = world.create_key(user)
    world.keys.revoke(world.load(user), created.key.id)
    reply = http.get("/api/who", headers=bearer(created.secret))
    assert (reply.status_code, reply.json()["detail"]) == (401, "the key was revoked")
    unknown = http.get("/api/who", headers=bearer(f"cr_{created.key.prefix}_{'x' * 43}"))
    assert unknown.json() == http.get("/api/who", headers=bearer(WRONG_KEY)).json()


def test_guesses_are_slowed_and_not_recorded_any_more(world: IdentityWorld, http: TestClient) -> None:
    secret = world.create_key(world.add_user()).secret
    for _ in range(FREE_FAILURES):
        assert http.get("/api/who", headers=bearer(WRONG_KEY)).status_code == 401
    for headers in (bearer(WRONG_KEY), bearer(secret), bearer("a.b.c")):
        reply = http.get("/api/who", headers=headers)
        if headers["authorization"] == "Bearer a.b.c":
            assert reply.status_code == 429
        assert reply.status_code == 429
        assert int(reply.headers["retry-after"]) >= 1
    assert http.post("/web/session", json={"key": secret}).status_code == 429
    assert len(world.audit.entries) == FREE_FAILURES
    world.clock.advance(seconds=2)
    assert http.get("/api/who", headers=bearer(secret)).status_code == 200


def test_browser_signs_in_with_a_key_and_out(world: IdentityWorld, http: TestClient) -> None:
    before = http.get("/web/session")
    assert before.json() == {"signed_in": False, "is_team_server": True, "methods": ["key"], "provider": ""}
    assert before.headers["cache-control"] == "no-store"
    session = sign_in(world, http)
    assert session["user"] == {"id": session["user"]["id"], "name": "ada", "role": "member"}
    assert Action.KEYS_OWN in session["actions"]
    assert Action.USERS_MANAGE not in session["actions"]
    assert http.get("/web/session").json() == session
    assert http.get("/api/who").json()["name"] == "ada"
    assert http.post("/api/who", headers={"x-coderag-csrf": session["csrf"]}).json()["name"] == "ada"
    cookie = http.cookies["coderag"]
    assert http.delete("/web/session").status_code == 403
    assert http.delete("/web/session", headers={"x-coderag-csrf": session["csrf"]}).json()["signed_in"] is False
    assert "coderag" not in http.cookies
    http.cookies.set("coderag", cookie)
    assert http.get("/api/who").json() == {"name": None}
    actions = [(entry["action"], entry["outcome"]) for entry in world.audit.entries]
    assert actions == [("sign_in", "allowed"), ("authenticate", "denied"), ("sign_out", "allowed")]


def test_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(world: IdentityWorld, tmp_path) -> None:
    secret = world.create_key(world.add_user()).secret
    plain = TestClient(world.build_app()).post("/web/session", json={"key": secret}).headers["set-cookie"]
    assert plain.startswith("coderag=")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(plain.split("; "))
    folder = tmp_path / "secure"
    folder.mkdir()
    secure_world = IdentityWorld(folder, public_url="https://code.example.org")
    secret = secure_world.create_key(secure_world.add_user()).secret
    http = TestClient(secure_world.build_app(), base_url="https://code.example.org")
    secure = http.post("/web/session", json={"key": secret}).headers["set-cookie"]
    assert secure.startswith("__Host-coderag=")
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Secure"} <= set(secure.split("; "))
    assert "domain" not in secure.lower()
    assert http.get("/api/who").json()["name"] == "ada"
    secure_world.database.close()


@pytest.mark.parametrize("key", [WRONG_KEY, "nothing", "\x00"])
def test_sign_in_with_a_wrong_key_is_refused(world: IdentityWorld, http: TestClient, key: str) -> None:
    reply = http.post("/web/session", json={"key": key})
    assert (reply.status_code, reply.json()["detail"]) == (401, "the key is not accepted")
    assert "set-cookie" not in reply.headers
    (entry,) = world.audit.entries
    assert (entry["action"], entry["outcome"], entry["who"]) == ("sign_in", "denied", None)


@pytest.mark.parametrize(
    "body", ["", "{}", '{"key": 7}', '{"key": ""}', '{"key": "' + "x" * 300 + '"}', "[", '{"key": "a", "more": 1}']
)
def test_malformed_sign_in_is_a_problem_without_the_value(http: TestClient, body: str) -> None:
    reply = http.post("/web/session", content=body, headers={"content-type": "application/json"})
    assert reply.status_code in (400, 422)
    assert "xxx" not in reply.text


def test_form_of_another_page_cannot_sign_in(world: IdentityWorld, http: TestClient) -> None:
    secret = world.create_key(world.add_user()).secret
    assert http.post("/web/session", data={"key": secret}).status_code == 415
    for headers in ({"origin": "https://evil.example.org"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        reply = http.post("/web/session", json={"key": secret}, headers=headers)
        assert reply.status_code == 403
        assert "set-cookie" not in reply.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example.org"},
        {"origin": "http://testserver:81"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_of_other_pages_are_refused(world: IdentityWorld, http: TestClient, headers: dict[str, str]) -> None:
    csrf = sign_in(world, http)["csrf"]
    for method in ("GET", "POST"):
        reply = http.request(method, "/api/who", headers={**headers, "x-coderag-csrf": csrf})
        assert (reply.status_code, reply.json()["type"]) == (403, "PermissionDeniedError")
    assert world.audit.entries[-1] == {
        "who": "ada",
        "action": "authenticate",
        "outcome": "denied",
        "error": "the request comes from another page",
        "address": "testclient",
    }


def test_link_on_another_page_opens_the_page_signed_out(world: IdentityWorld, http: TestClient) -> None:
    sign_in(world, http)
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert http.get("/api/who", headers=headers).json() == {"name": None}
    assert http.post("/api/who", headers=headers).status_code == 403


@pytest.mark.parametrize("csrf", ["", "wrong", "é"])
def test_writing_needs_the_csrf_token(world: IdentityWorld, http: TestClient, csrf: str) -> None:
    sign_in(world, http)
    reply = http.post("/api/who", headers={"x-coderag-csrf": csrf.encode()})
    assert reply.status_code == 403
    assert "CSRF" in reply.json()["detail"]


def test_cookie_does_not_open_mcp(world: IdentityWorld, http: TestClient) -> None:
    csrf = sign_in(world, http)["csrf"]
    assert http.post("/mcp", headers={"x-coderag-csrf": csrf}).json() == {"name": None}


def test_wrong_key_is_refused_although_the_cookie_is_right(world: IdentityWorld, http: TestClient) -> None:
    sign_in(world, http)
    assert http.get("/api/who", headers=bearer(WRONG_KEY)).status_code == 401


def test_browser_gets_the_new_cookie_and_the_old_one_has_a_grace(world: IdentityWorld, http: TestClient) -> None:
    csrf = sign_in(world, http)["csrf"]
    old = http.cookies["coderag"]
    world.clock.advance(seconds=ROTATION.total_seconds())
    reply = http.get("/api/who")
    assert {"HttpOnly", "SameSite=strict"} <= set(reply.headers["set-cookie"].split("; "))
    new = http.cookies["coderag"]
    assert new != old
    assert http.post("/api/who", headers={"x-coderag-csrf": csrf}).json()["name"] == "ada"
    late = TestClient(world.build_app(), cookies={"coderag": old})
    assert late.get("/api/who").json()["name"] == "ada"
    world.clock.advance(seconds=GRACE.total_seconds())
    assert late.get("/api/who").json() == {"name": None}
    assert http.get("/api/who").json() == {"name": None}


@pytest.mark.parametrize("headers", [{}, {"origin": "https://evil.example.org"}, {"sec-fetch-site": "cross-site"}])
def test_refused_request_does_not_lose_the_new_cookie(
    world: IdentityWorld, http: TestClient, headers: dict[str, str]
) -> None:
    sign_in(world, http)
    old = http.cookies["coderag"]
    world.clock.advance(seconds=ROTATION.total_seconds())
    assert http.post("/api/who", headers=headers).status_code == 403
    assert (http.cookies["coderag"] == old) == bool(headers)  # other pages change nothing
    world.clock.advance(seconds=GRACE.total_seconds())
    assert http.get("/api/who").json()["name"] == "ada"


def test_signing_in_again_ends_the_session_before(world: IdentityWorld, http: TestClient) -> None:
    sign_in(world, http)
    old = http.cookies["coderag"]
    secret = world.create_key(world.add_user("bob", Role.VIEWER)).secret
    assert http.post("/web/session", json={"key": secret}).json()["user"]["name"] == "bob"
    assert http.cookies["coderag"] != old
    assert TestClient(world.build_app(), cookies={"coderag": old}).get("/api/who").json() == {"name": None}


def test_removed_user_is_refused_from_the_next_request_on(world: IdentityWorld, http: TestClient) -> None:
    user_id = sign_in(world, http)["user"]["id"]
    other = world.add_user("bob")
    shop, _ = world.add_repository("shop")
    world.grant(world.add_team("team", other.id), Level.READ, repository_id=shop)
    token = world.keys.create_agent_token(world.load(other), [shop]).secret
    assert http.get("/api/who", headers=bearer(token)).json()["kind"] == "agent"
    assert http.post("/web/session", json={"key": token}).status_code == 403
    world.change_user(other, is_active=False)
    assert http.get("/api/who", headers=bearer(token)).status_code == 401
    with world.database.begin() as session:
        session.execute(type(other).__table__.delete().where(type(other).id == user_id))
    assert http.get("/api/who").json() == {"name": None}


def test_database_that_is_away_is_an_outage(world: IdentityWorld, monkeypatch) -> None:
    http = TestClient(world.build_app())
    secret = world.create_key(world.add_user()).secret

    def fail() -> Any:
        raise DatabaseUnavailableError("the database does not answer")

    monkeypatch.setattr(world.database, "read", fail)
    reply = http.get("/api/who", headers=bearer(secret))
    assert (reply.status_code, reply.json()["retryable"]) == (503, True)
    assert "retry-after" in reply.headers


def test_audit_that_cannot_be_written_refuses_the_sign_in(world: IdentityWorld, monkeypatch) -> None:
    http = TestClient(world.build_app())
    secret = world.create_key(world.add_user()).secret

    def fail(*_: Any, **__: Any) -> None:
        raise DatabaseUnavailableError("the audit record cannot be written")

    monkeypatch.setattr(world.audit, "record", fail)
    reply = http.post("/web/session", json={"key": secret})
    assert reply.status_code == 503
    assert "set-cookie" not in reply.headers


def test_server_without_a_provider_has_no_metadata_and_no_sign_in_there(http: TestClient) -> None:
    for path in ("/.well-known/oauth-protected-resource", "/web/oidc/begin", "/web/oidc/callback?state=a&code=b"):
        assert http.get(path).status_code == 404
