"""The client of the provider against replies that a provider should not send."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select
from starlette.testclient import TestClient

from coderag.errors import AuthenticationError, CodeRAGError, ConfigurationError, ProviderUnavailableError
from coderag.server.access.roles import Role
from coderag.server.identity import sign_in_attempts
from coderag.server.identity.oidc import FinishedSignIn, OidcClient, clean_path
from coderag.server.identity.oidc_accounts import OidcAccounts
from coderag.server.sealing import MasterKey
from coderag.server.settings import OidcSettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.models import SignInAttempt, User
from tests.support.identity_world import IdentityWorld, MovableClock
from tests.support.token_provider import CLIENT_ID, TokenProvider, serve_tokens, sign_with_none, sign_with_public_key


@pytest.fixture(scope="module")
def running() -> Iterator[TokenProvider]:
    with serve_tokens() as provider:
        yield provider


@pytest.fixture
def provider(running: TokenProvider) -> TokenProvider:
    running.__init__(int(running.issuer.rpartition(":")[2]))
    return running


@pytest.fixture
def world(provider: TokenProvider, tmp_path: Path) -> Iterator[IdentityWorld]:
    settings = OidcSettings(issuer=provider.issuer, client_id=CLIENT_ID)
    world = IdentityWorld(tmp_path, oidc_settings=settings, clock=MovableClock(get_time()))
    yield world
    world.database.close()


def finish(world: IdentityWorld, provider: TokenProvider, **claims: Any) -> FinishedSignIn:
    """Begin a sign-in and finish it with a token of these claims."""
    assert world.oidc is not None
    begun = world.oidc.begin("/")
    query = {name: values[0] for name, values in parse_qs(urlsplit(begun.url).query).items()}
    provider.claims = {"nonce": query["nonce"], **claims}
    return world.oidc.finish(query["state"], "a-code", begun.browser_secret)


def test_public_client_proves_itself_with_pkce(world: IdentityWorld, provider: TokenProvider) -> None:
    finished = finish(world, provider)
    assert finished.user.oidc_subject == "ada"
    assert provider.exchange["client_id"] == [CLIENT_ID]
    assert provider.exchange["code"] == ["a-code"]
    assert len(provider.exchange["code_verifier"][0]) >= 43
    assert "client_secret" not in provider.exchange


@pytest.mark.parametrize("methods", [None, ["client_secret_basic"], ["client_secret_post"]])
def test_secret_is_sent_as_the_provider_wants_it(world: IdentityWorld, provider: TokenProvider, methods: Any) -> None:
    if methods:
        provider.metadata = {"token_endpoint_auth_methods_supported": methods}
    settings = OidcSettings(issuer=provider.issuer, client_id=CLIENT_ID, client_secret="s3cret")  # type: ignore[arg-type]
    world.oidc = OidcClient(settings, world.public_url, world.database, MasterKey(b"k" * 32), world.clock)
    finish(world, provider)
    assert ("client_secret" in provider.exchange) == (methods == ["client_secret_post"])


@pytest.mark.parametrize("forge", ["none", "public key", "other nonce", "other audience", "expired"])
def test_forged_id_token_opens_nothing(world: IdentityWorld, provider: TokenProvider, forge: str) -> None:
    changes: dict[str, Any] = {
        "other nonce": {"nonce": "x"},
        "other audience": {"aud": "x"},
        "expired": {"exp": 1_000},
    }.get(forge, {})
    if forge == "none":
        provider.id_token = sign_with_none(provider.build_claims())
    elif forge == "public key":
        provider.id_token = sign_with_public_key(provider)
    with pytest.raises(AuthenticationError, match="the provider's token"):
        finish(world, provider, **changes)
    with world.database.read() as session:
        assert session.scalar(select(func.count()).select_from(User)) == 0


@pytest.mark.parametrize(
    ("reply", "kind", "fault"),
    [
        ((200, {"access_token": "a", "token_type": "Bearer"}), AuthenticationError, "no ID token"),
        ((200, {"access_token": "a", "id_token": 7}), AuthenticationError, "no ID token"),
        (
            (400, {"error": "invalid_grant", "error_description": "SECRET"}),
            AuthenticationError,
            "does not accept the code",
        ),
        ((401, {"error": "invalid_client"}), ConfigurationError, "client id and secret"),
        ((500, {"error": "server_error"}), ProviderUnavailableError, "status 500"),
        ((503, b"<html>"), ProviderUnavailableError, "status 503"),
        ((429, b"slow down"), ProviderUnavailableError, "status 429"),
        ((200, b"<html>"), ProviderUnavailableError, "unusable"),
        ((200, []), ProviderUnavailableError, "unusable"),
        ((302, b""), ProviderUnavailableError, "status 302"),
    ],
)
def test_bad_replies_to_the_code_are_clear_errors(
    world: IdentityWorld, provider: TokenProvider, reply: Any, kind: type[CodeRAGError], fault: str
) -> None:
    provider.token_reply = reply
    with pytest.raises(kind, match=fault) as caught:
        finish(world, provider)
    assert "SECRET" not in str(caught.value)


def test_claims_of_the_user_information_are_used(world: IdentityWorld, provider: TokenProvider) -> None:
    world.add_team("platform", group="engineers")
    provider.user_info = {
        "sub": "ada",
        "email": "Ada@Example.org",
        "email_verified": True,
        "name": "Ada",
        "groups": ["engineers"],
    }
    user = finish(world, provider).user
    assert (user.email, user.name) == ("ada@example.org", "Ada")
    assert world.list_teams(user.id) == {"platform": True}
    provider.user_info = {"sub": "eve", "email": "eve@example.org"}
    with pytest.raises(AuthenticationError, match="another person"):
        finish(world, provider)


def test_user_information_does_not_verify_the_e_mail_of_the_token(
    world: IdentityWorld, provider: TokenProvider
) -> None:
    owner = world.add_user("owner", Role.OWNER)
    provider.user_info = {"sub": "ada", "email": "ada@example.org", "email_verified": True}
    user = finish(world, provider, email="owner@example.org").user
    assert user.id != owner.id
    assert user.email == "ada@example.org"


def test_e_mail_of_another_account_is_not_taken(world: IdentityWorld, provider: TokenProvider) -> None:
    first = finish(world, provider, sub="one", email="ada@example.org", email_verified=True).user
    second = finish(world, provider, sub="two", email="ada@example.org", email_verified=True).user
    assert second.id != first.id
    assert second.email is None
    assert finish(world, provider, sub="one").user.id == first.id


def test_provider_that_promises_its_name_must_send_it(world: IdentityWorld, provider: TokenProvider) -> None:
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    with pytest.raises(AuthenticationError, match="another provider"):
        finish(world, provider)


def test_number_of_pending_sign_ins_is_bounded(world: IdentityWorld, monkeypatch) -> None:
    assert world.oidc is not None
    monkeypatch.setattr(sign_in_attempts, "MAX_ATTEMPTS", 3)
    for _ in range(6):
        world.oidc.begin("/")
    with world.database.read() as session:
        assert session.scalar(select(func.count()).select_from(SignInAttempt)) == 3
    world.clock.advance(minutes=10)
    world.oidc.begin("/")
    with world.database.read() as session:
        assert session.scalar(select(func.count()).select_from(SignInAttempt)) == 1


def test_access_token_opens_api_and_mcp(world: IdentityWorld, provider: TokenProvider) -> None:
    user = finish(world, provider).user
    provider.claims = {}
    http = TestClient(world.build_app())
    headers = {"authorization": f"Bearer {provider.sign(aud=world.public_url)}"}
    for path in ("/api/who", "/mcp"):
        assert http.post(path, headers=headers).json() == {"name": "ada", "kind": "agent", "scopes": ["read"]}
    world.change_user(user, is_active=False)
    assert http.post("/mcp", headers=headers).status_code == 401
    provider.rotate()
    provider.status = 500
    headers = {"authorization": f"Bearer {provider.sign(aud=world.public_url)}"}
    reply = http.post("/mcp", headers=headers)
    assert (reply.status_code, reply.json()["type"]) == (503, "ProviderUnavailableError")


@pytest.mark.parametrize("url", ["", "code.example.org", "ftp://code.example.org"])
def test_public_url_is_needed(world: IdentityWorld, provider: TokenProvider, url: str) -> None:
    settings = OidcSettings(issuer=provider.issuer, client_id=CLIENT_ID)
    with pytest.raises(ConfigurationError, match="public_url"):
        OidcClient(settings, url, world.database, MasterKey(b"k" * 32))
    with pytest.raises(ConfigurationError, match="client_id"):
        OidcClient(OidcSettings(issuer=provider.issuer), world.public_url, world.database, MasterKey(b"k" * 32))


@given(st.text(max_size=40) | st.from_regex(r"[/\\ a:.%\t]{1,12}", fullmatch=True))
def test_clean_path_never_leaves_the_server(path: str) -> None:
    cleaned = clean_path(path)
    assert cleaned.startswith("/")
    assert not cleaned.startswith(("//", "/\\"))
    assert not urlsplit(cleaned).netloc
    assert cleaned.isprintable()


_CLAIM = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.lists(st.text(max_size=8) | st.integers(), max_size=5)
)


@pytest.fixture(scope="module")
def accounts_world(tmp_path_factory: pytest.TempPathFactory) -> IdentityWorld:
    world = IdentityWorld(tmp_path_factory.mktemp("accounts"))
    world.add_user("owner", Role.OWNER)
    world.add_team("platform", group="engineers")
    world.add_team("manual")
    return world


@given(
    claims=st.fixed_dictionaries(
        {"sub": st.text(min_size=1, max_size=5)},
        optional=dict.fromkeys(("email", "email_verified", "name", "preferred_username", "groups"), _CLAIM),
    ),
    groups=st.lists(st.sampled_from(["engineers", "manual", ""]), max_size=3),
)
def test_any_claims_make_one_account_without_rights(
    accounts_world: IdentityWorld, claims: dict[str, Any], groups: list[str]
) -> None:
    """Whatever a provider says: one account a subject, the default role, and the teams of its groups."""
    world = accounts_world
    accounts = OidcAccounts(
        world.database, OidcSettings(issuer="https://login.example.org", client_id=CLIENT_ID), world.clock
    )
    first = accounts.update(claims)
    second = accounts.update({**claims, "groups": groups})
    assert (first.id, first.role) == (second.id, Role.MEMBER)
    assert 0 < len(second.name) <= 200
    assert world.list_teams(second.id) == ({"platform": True} if "engineers" in groups else {})
