"""Sign-in at a real OpenID Connect provider, over HTTP from the first redirect to the session."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from coderag.server.access.roles import Role
from coderag.server.identity.oidc import OidcClient
from coderag.server.sealing import MasterKey
from coderag.server.settings import OidcSettings
from coderag.server.storage.models import User
from tests.support.identity_server import bind_free_port, serve_app
from tests.support.identity_world import IdentityWorld, MovableClock
from tests.support.oidc_mock import authorize, change_person, make_person, serve_provider

pytestmark = pytest.mark.filterwarnings("ignore:get_jwt_config")  # the provider uses it


class RealClock(MovableClock):
    """The clock of this machine, moved by a test."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = 0.0

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.offset)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    people = (
        make_person("ada", ["engineers", "reviewers"]),
        make_person("bob"),
        make_person("eve", email="owner@example.org", email_verified=False),
        make_person("ann", email="Owner@example.org"),
    )
    with serve_provider(*people) as issuer:
        yield issuer


@pytest.fixture
def world(tmp_path: Path, issuer: str) -> Iterator[IdentityWorld]:
    listener = bind_free_port()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    settings = OidcSettings(issuer=issuer, client_id="coderag", client_secret="secret")  # type: ignore[arg-type]
    world = IdentityWorld(tmp_path, public_url=url, oidc_settings=settings, clock=RealClock())
    with serve_app(world.build_app(), listener):
        yield world
    world.database.close()


class Browser(httpx.Client):
    """A browser without redirects of its own; its requests say where they come from, as browsers do."""

    def __init__(self, world: IdentityWorld) -> None:
        super().__init__(base_url=world.public_url, timeout=30)

    def begin(self, next_path: str = "/") -> str:
        reply = self.get("/web/oidc/begin", params={"next": next_path}, headers={"sec-fetch-site": "same-origin"})
        assert reply.status_code == 303, reply.text
        return reply.headers["location"]

    def come_back(self, location: str, **headers: str) -> httpx.Response:
        arrival = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        return self.get(location, headers={**arrival, **headers})

    def sign_in(self, subject: str, next_path: str = "/") -> httpx.Response:
        return self.come_back(authorize(self.begin(next_path), subject))

    def read_session(self) -> dict[str, Any]:
        return self.get("/web/session").json()


@pytest.fixture
def browser(world: IdentityWorld) -> Iterator[Browser]:
    with Browser(world) as browser:
        yield browser


def test_person_signs_in_and_joins_the_teams_of_its_groups(world: IdentityWorld, browser: Browser, issuer: str) -> None:
    world.add_team("platform", group="engineers")
    world.add_team("security", group="auditors")
    methods = browser.read_session()
    assert (methods["methods"], methods["provider"]) == (["key", "oidc"], "localhost")
    url = browser.begin("/search?q=login")
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert query["code_challenge_method"] == "S256"
    assert query["redirect_uri"] == f"{world.public_url}/web/oidc/callback"
    assert {"state", "nonce", "code_challenge"} <= query.keys()
    reply = browser.come_back(authorize(url, "ada"))
    assert (reply.status_code, reply.headers["location"]) == (303, "/search?q=login")
    session = browser.read_session()
    assert session["user"]["name"] == "Ada"
    assert session["user"]["role"] == Role.MEMBER
    assert browser.get("/api/who").json()["kind"] == "session"
    assert world.list_teams(session["user"]["id"]) == {"platform": True}
    with world.database.read() as row:
        user = row.get_one(User, session["user"]["id"])
        assert (user.oidc_issuer, user.oidc_subject, user.email) == (issuer, "ada", "ada@example.org")
    assert [(entry["action"], entry["outcome"]) for entry in world.audit.entries] == [("sign_in", "allowed")]


def test_memberships_follow_the_groups_and_manual_ones_stay(
    world: IdentityWorld, browser: Browser, issuer: str
) -> None:
    browser.sign_in("ada")
    user_id = browser.read_session()["user"]["id"]
    world.add_team("reviews", user_id, group="reviewers")
    world.add_team("platform", group="engineers")
    world.add_team("guild", user_id)
    browser.sign_in("ada")
    assert world.list_teams(user_id) == {"reviews": False, "platform": True, "guild": False}
    change_person(issuer, "ada", [])
    try:
        browser.sign_in("ada")
        assert world.list_teams(user_id) == {"reviews": False, "guild": False}
    finally:
        change_person(issuer, "ada", ["engineers", "reviewers"])


def test_account_is_taken_over_by_its_verified_e_mail_only(world: IdentityWorld, browser: Browser) -> None:
    owner = world.add_user("owner", Role.OWNER)
    browser.sign_in("eve")
    eve = browser.read_session()["user"]
    assert (eve["id"] != owner.id, eve["role"]) == (True, Role.MEMBER)
    browser.sign_in("ann")
    assert browser.read_session()["user"]["id"] == owner.id
    assert browser.read_session()["user"]["role"] == Role.OWNER


def test_disabled_and_removed_people_do_not_get_in(world: IdentityWorld, browser: Browser) -> None:
    browser.sign_in("bob")
    user = User(id=browser.read_session()["user"]["id"])
    world.change_user(user, is_active=False)
    assert browser.get("/api/who").json() == {"name": None}
    reply = browser.sign_in("bob")
    assert (reply.status_code, reply.json()["detail"]) == (401, "the account is disabled")
    assert browser.read_session()["signed_in"] is False
    assert world.audit.entries[-1]["outcome"] == "denied"


def test_code_and_state_work_once(world: IdentityWorld, browser: Browser) -> None:
    back = authorize(browser.begin(), "bob")
    secret = browser.cookies["coderag-sign-in"]
    assert browser.come_back(back).status_code == 303
    browser.cookies.set("coderag-sign-in", secret)
    again = browser.come_back(back)
    assert (again.status_code, again.json()["type"]) == (401, "AuthenticationError")
    assert "was finished before" in again.json()["detail"]
    browser.cookies.clear()
    used_code = parse_qs(urlsplit(back).query)["code"][0]
    fresh = parse_qs(urlsplit(browser.begin()).query)["state"][0]
    reply = browser.come_back(f"/web/oidc/callback?state={fresh}&code={used_code}")
    assert (reply.status_code, reply.json()["detail"]) == (401, "the provider does not accept the code")


def test_sign_in_of_another_browser_cannot_be_finished(world: IdentityWorld, browser: Browser) -> None:
    """An attacker's own sign-in must not end in the victim's browser."""
    with Browser(world) as attacker:
        back = authorize(attacker.begin(), "eve")
    reply = browser.come_back(back)
    assert (reply.status_code, reply.json()["detail"]) == (401, "the sign-in was begun by another browser")
    assert browser.read_session()["signed_in"] is False


def test_sign_in_that_took_too_long_is_refused(world: IdentityWorld, browser: Browser) -> None:
    back = authorize(browser.begin(), "bob")
    world.clock.offset = 601  # type: ignore[attr-defined]
    assert browser.come_back(back).status_code == 401


def test_person_who_declines_gets_a_page(world: IdentityWorld, browser: Browser) -> None:
    location = authorize(browser.begin(), is_denied=True)
    reply = browser.come_back(location, accept="text/html")
    assert reply.status_code == 401
    assert "The provider ended the sign-in: access_denied" in reply.text
    assert "script-src" in reply.headers["content-security-policy"]
    hostile = browser.come_back("/web/oidc/callback?error=<script>alert(1)</script>", accept="text/html")
    assert "<script>" not in hostile.text


@pytest.mark.parametrize(
    "query", ["", "state=a", "code=a", "state=a&code=b", "state=&code=", "state=a&code=b&state=c", "state=%00&code=%ff"]
)
def test_callback_without_a_sign_in_is_refused(browser: Browser, query: str) -> None:
    reply = browser.come_back(f"/web/oidc/callback?{query}")
    assert (reply.status_code, reply.headers["content-type"]) == (401, "application/problem+json")


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example.org",
        "//evil.example.org",
        "/\\evil.example.org",
        "javascript:alert(1)",
        "",
        "evil",
        "/a\r\nset-cookie: x=y",
    ],
)
def test_next_leads_to_this_server_only(browser: Browser, target: str) -> None:
    assert browser.sign_in("bob", target).headers["location"] == "/"


def test_callback_of_another_issuer_is_refused(world: IdentityWorld, browser: Browser) -> None:
    back = authorize(browser.begin(), "bob")
    reply = browser.come_back(f"{back}&iss=https://evil.example.org")
    assert (reply.status_code, reply.json()["detail"]) == (401, "the reply is from another provider")


def test_clock_that_is_wrong_refuses_the_token(world: IdentityWorld, browser: Browser) -> None:
    world.clock.offset = -300  # type: ignore[attr-defined]
    reply = browser.sign_in("bob")
    assert reply.status_code == 401
    assert "iat" in reply.json()["detail"]
    world.clock.offset = -30  # type: ignore[attr-defined]
    assert browser.sign_in("bob").status_code == 303


def test_provider_that_restarts_with_other_keys_and_one_that_is_down(tmp_path: Path) -> None:
    listener = bind_free_port()
    with serve_provider(make_person("ada")) as issuer:
        port = urlsplit(issuer).port
        settings = OidcSettings(issuer=issuer, client_id="coderag", client_secret="secret")
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        world = IdentityWorld(tmp_path, public_url=url, oidc_settings=settings, clock=RealClock())
    assert port is not None
    with serve_app(world.build_app(), listener), Browser(world) as browser:
        reply = browser.get("/web/oidc/begin")
        assert (reply.status_code, reply.json()["type"]) == (503, "ProviderUnavailableError")
        assert reply.headers["retry-after"]
        assert world.audit.entries[-1]["outcome"] == "failed"
        world.oidc.provider._failed_at = float("-inf")  # type: ignore[union-attr]
        with serve_provider(make_person("ada"), port=port):
            assert browser.sign_in("ada").status_code == 303
            first = browser.read_session()["user"]["id"]
        with serve_provider(make_person("ada"), port=port):
            assert browser.sign_in("ada").status_code == 303
            assert browser.read_session()["user"]["id"] == first
            back = authorize(browser.begin(), "ada")
        down = browser.come_back(back)
        assert (down.status_code, down.json()["retryable"]) == (503, True)
        assert browser.get("/api/who").json()["name"] == "Ada"  # who is signed in stays so
    world.database.close()


def test_accepted_domains_exclude_others(world: IdentityWorld, issuer: str) -> None:
    settings = OidcSettings(issuer=issuer, client_id="coderag", client_secret="secret", email_domains=("example.com",))
    world.oidc = OidcClient(settings, world.public_url, world.database, MasterKey(b"k" * 32), world.clock)
    with Browser(world) as browser:
        reply = browser.sign_in("bob")
        assert (reply.status_code, "accepted domain" in reply.json()["detail"]) == (401, True)


def test_metadata_leads_mcp_clients_to_the_provider(world: IdentityWorld, browser: Browser, issuer: str) -> None:
    for suffix in ("", "/mcp"):
        reply = browser.get(
            f"/.well-known/oauth-protected-resource{suffix}", headers={"origin": "https://client.example.org"}
        )
        assert reply.json()["resource"] == world.public_url + suffix
        assert reply.json()["authorization_servers"] == [issuer]
        assert reply.headers["access-control-allow-origin"] == "*"
    refused = browser.post("/mcp", headers={"authorization": "Bearer a.b.c"})
    assert refused.status_code == 401
    metadata = f"{world.public_url}/.well-known/oauth-protected-resource/mcp"
    assert refused.headers["www-authenticate"] == f'Bearer error="invalid_token", resource_metadata="{metadata}"'
