"""Sessions of browsers: codes work once and for two minutes; cookies cannot be forged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from coderag.interfaces.serve.authentication import Authenticator
from coderag.interfaces.serve.refusals import RefusedError
from coderag.interfaces.web.app import make_web_app
from coderag.interfaces.web.sessions import CODE_S, SESSION_S, WebSessions, parse_cookie
from coderag.interfaces.web.static_files import StaticFiles, find_media_type

KEY = bytes(range(32))


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> WebSessions:
    return WebSessions(KEY, clock)


def test_a_code_works_once(sessions: WebSessions) -> None:
    code = sessions.issue_code()
    session = sessions.exchange_code(code)
    assert session is not None
    assert sessions.read_session(session.value) == session
    assert sessions.exchange_code(code) is None


def test_a_code_is_good_for_two_minutes(sessions: WebSessions, clock: Clock) -> None:
    code = sessions.issue_code()
    clock.now += CODE_S + 1
    assert sessions.exchange_code(code) is None


def test_only_the_latest_codes_are_remembered(sessions: WebSessions) -> None:
    first = sessions.issue_code()
    for _ in range(100):
        sessions.issue_code()
    assert sessions.exchange_code(first) is None


def test_a_session_ends_and_survives_a_restart_with_the_same_key_only(sessions: WebSessions, clock: Clock) -> None:
    session = sessions.exchange_code(sessions.issue_code())
    assert session is not None
    assert WebSessions(KEY, clock).read_session(session.value) == session
    assert WebSessions(bytes(32), clock).read_session(session.value) is None
    clock.now += SESSION_S + 1
    assert sessions.read_session(session.value) is None


@given(
    st.text(max_size=200) | st.builds("{}.{}.{}".format, st.text(), st.integers(), st.text(min_size=64, max_size=64))
)
def test_no_made_up_cookie_is_a_session(value: str) -> None:
    assert WebSessions(KEY, Clock()).read_session(value) is None


@given(st.text(max_size=300))
def test_any_cookie_header_is_read_or_ignored(header: str) -> None:
    assert isinstance(parse_cookie(header, "coderag_session_1"), str)


def test_pages_sign_in_and_out(sessions: WebSessions) -> None:
    client = TestClient(make_web_app(sessions), "http://localhost")
    assert client.get("/web/session").json() == {"signed_in": False}
    for body in ("no json", "[]", '{"code": 3}', '{"code": "' + "x" * 200 + '"}'):
        assert client.post("/web/session", content=body).status_code == 400
    assert client.post("/web/session", json={"code": "wrong"}).status_code == 403
    reply = client.post("/web/session", json={"code": sessions.issue_code()})
    cookie = reply.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "max-age="))
    assert client.get("/web/session").json()["csrf"] == reply.json()["csrf"]
    assert client.delete("/web/session").json() == {"signed_in": False}
    assert client.get("/web/session").json() == {"signed_in": False}


def test_a_file_is_sent_compressed_or_not_and_may_be_kept(sessions: WebSessions) -> None:
    client = TestClient(make_web_app(sessions), "http://localhost")
    html = {"accept": "text/html"}
    plain = client.get("/code/a.py", headers={**html, "accept-encoding": "identity"})
    packed = client.get("/", headers=html)
    assert (plain.text, "content-encoding" in plain.headers) == (packed.text, False)
    assert (packed.headers["content-encoding"], packed.headers["cache-control"]) == ("gzip", "no-cache")
    asset = plain.text.split('src="/')[1].split('"')[0]
    assert "immutable" in client.get(f"/{asset}").headers["cache-control"]
    assert client.get("/assets/none.js", headers=html).status_code == 404
    assert client.get("/no/such/path").status_code == 404  # a program does not want a page


def make_scope(path: str, method: str = "GET", **headers: str) -> dict[str, object]:
    raw = [
        (name.replace("_", "-").encode(), value.encode()) for name, value in {"host": "localhost:1", **headers}.items()
    ]
    return {"type": "http", "path": path, "method": method, "headers": raw, "server": ("localhost", 1)}


def is_allowed(sessions: WebSessions | None, scope: dict[str, object]) -> bool:
    from starlette.datastructures import Headers

    authenticator, headers = Authenticator("the-token-of-these-tests", sessions), Headers(scope=scope)
    try:
        authenticator.check(authenticator.identify(scope, headers), scope, headers)
    except RefusedError:
        return False
    return True


def test_a_session_opens_the_interface_of_pages_only(sessions: WebSessions) -> None:
    session = sessions.exchange_code(sessions.issue_code())
    assert session is not None
    cookie = {"cookie": f"coderag_session_1={session.value}"}
    csrf = {"x_coderag_csrf": session.csrf}
    cases = [
        (make_scope("/api/v1/repositories"), False),
        (make_scope("/api/v1/repositories", **cookie), True),
        (make_scope("/api/v1/search", "POST", **cookie), False),
        (make_scope("/api/v1/search", "POST", **cookie, **csrf), True),
        (make_scope("/api/v1/search", "POST", **cookie, **csrf, origin="http://localhost:1"), True),
        (make_scope("/api/v1/search", "POST", **cookie, **csrf, origin="http://localhost:2"), False),
        (make_scope("/api/v1/repositories", **cookie, sec_fetch_site="cross-site"), False),
        (make_scope("/service/stop", "POST", **cookie, **csrf), False),
        (make_scope("/mcp", "POST", **cookie, **csrf), False),
        (make_scope("/openapi.json"), False),
        (make_scope("/dashboard"), True),
        (make_scope("/web/session", "DELETE"), False),
        (make_scope("/web/session", "POST"), True),
    ]
    for scope, expected in cases:
        assert is_allowed(sessions, scope) is expected, (scope["path"], scope["headers"])
    assert not is_allowed(None, make_scope("/dashboard"))  # without a web interface


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.js", "text/javascript; charset=utf-8"), ("a.woff2", "font/woff2"), ("a", "application/octet-stream")],
)
def test_media_types_do_not_depend_on_the_system(name: str, media_type: str) -> None:
    assert find_media_type(name) == media_type


def test_nothing_outside_the_built_files_is_found() -> None:
    assert StaticFiles().find("../app.py") is None
    assert StaticFiles().find("index.html") is not None
