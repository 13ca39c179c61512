"""Tokens of the provider: those that are accepted, and every kind that is not."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey, RSAKey

from coderag.errors import AuthenticationError, ConfigurationError, ProviderUnavailableError
from coderag.server.access.roles import Level, Role, Scope
from coderag.server.identity.access_tokens import AccessTokenService
from coderag.server.identity.provider import OidcProvider
from coderag.server.identity.tokens import TokenVerifier
from coderag.server.settings import OidcSettings
from tests.support.identity_world import IdentityWorld
from tests.support.token_provider import CLIENT_ID, TokenProvider, serve_tokens, sign_with_none, sign_with_public_key

PUBLIC_URL = "https://code.example.org"
LEEWAY_S = 60
NONCE = "nonce-of-this-sign-in"


class Ticks:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def running() -> Iterator[TokenProvider]:
    with serve_tokens() as provider:
        yield provider


@pytest.fixture
def provider(running: TokenProvider) -> TokenProvider:
    issuer = running.issuer
    running.__init__(int(issuer.rpartition(":")[2]))
    return running


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def verifier(provider: TokenProvider, ticks: Ticks) -> TokenVerifier:
    return build_verifier(provider, ticks)


def build_verifier(provider: TokenProvider, ticks: Ticks) -> TokenVerifier:
    client = OidcProvider(OidcSettings(issuer=provider.issuer, client_id=CLIENT_ID), ticks)
    return TokenVerifier(client, CLIENT_ID, [PUBLIC_URL, f"{PUBLIC_URL}/mcp"], LEEWAY_S)


def test_id_token_of_the_provider_is_accepted(provider: TokenProvider, verifier: TokenVerifier) -> None:
    claims = verifier.verify_id_token(provider.sign(nonce=NONCE), NONCE)
    assert claims["sub"] == "ada"
    verifier.verify_id_token(provider.sign(nonce=NONCE, aud=[CLIENT_ID]), NONCE)
    verifier.verify_id_token(provider.sign(nonce=NONCE, aud=[CLIENT_ID, "other"], azp=CLIENT_ID), NONCE)


def now() -> int:
    return int(time.time())


BAD_CLAIMS: dict[str, dict[str, Any]] = {
    "other audience": {"aud": "another-client"},
    "no audience": {"aud": None},
    "audience of a wrong type": {"aud": 7},
    "several audiences, no party": {"aud": [CLIENT_ID, "other"]},
    "other party": {"azp": "another-client"},
    "other issuer": {"iss": "https://evil.example.org"},
    "no issuer": {"iss": None},
    "no subject": {"sub": None},
    "empty subject": {"sub": ""},
    "long subject": {"sub": "x" * 201},
    "subject of a wrong type": {"sub": ["ada"]},
    "expired beyond the leeway": {"exp": now() - LEEWAY_S - 5},
    "no expiry": {"exp": None},
    "expiry that is no number": {"exp": "never"},
    "expiry of NaN": {"exp": float("nan")},
    "issued in the future": {"iat": now() + LEEWAY_S + 600},
    "no time of issue": {"iat": None},
    "not valid yet": {"nbf": now() + LEEWAY_S + 600},
    "no nonce": {"nonce": None},
    "other nonce": {"nonce": "of another sign-in"},
    "nonce of a wrong type": {"nonce": 7},
}


@pytest.mark.parametrize("name", BAD_CLAIMS)
def test_bad_claims_are_refused(provider: TokenProvider, verifier: TokenVerifier, name: str) -> None:
    token = provider.sign(**{"nonce": NONCE, **BAD_CLAIMS[name]})
    with pytest.raises(AuthenticationError, match="the provider's token") as caught:
        verifier.verify_id_token(token, NONCE)
    assert token not in str(caught.value)


@pytest.mark.parametrize("changes", [{"exp": -LEEWAY_S + 20}, {"iat": LEEWAY_S - 20}, {"nbf": LEEWAY_S - 20}])
def test_clocks_may_differ_by_the_leeway(
    provider: TokenProvider, verifier: TokenVerifier, changes: dict[str, int]
) -> None:
    times = {name: now() + seconds for name, seconds in changes.items()}
    assert verifier.verify_id_token(provider.sign(nonce=NONCE, **times), NONCE)


def test_algorithm_none_is_refused(provider: TokenProvider, verifier: TokenVerifier) -> None:
    for name in ("none", "None", "NONE"):
        token = sign_with_none(provider.build_claims(nonce=NONCE), name)
        with pytest.raises(AuthenticationError, match="unsupported algorithm"):
            verifier.verify_id_token(token, NONCE)


def test_public_key_as_a_secret_is_refused(provider: TokenProvider, verifier: TokenVerifier) -> None:
    with pytest.raises(AuthenticationError, match="unsupported algorithm"):
        verifier.verify_id_token(sign_with_public_key(provider, nonce=NONCE), NONCE)


def test_keys_of_the_token_itself_are_not_used(provider: TokenProvider, verifier: TokenVerifier) -> None:
    own = RSAKey.generate_key(2048, {"kid": provider.key.kid})
    for header in ({"jwk": own.as_dict(private=False)}, {"jku": "https://evil.example.org/jwks"}, {}):
        with pytest.raises(AuthenticationError, match="signature"):
            verifier.verify_id_token(provider.sign(own, header=header, nonce=NONCE), NONCE)


def test_key_of_another_type_or_use_is_refused(provider: TokenProvider, verifier: TokenVerifier) -> None:
    curve = ECKey.generate_key("P-256", {"kid": provider.key.kid})
    with pytest.raises(AuthenticationError):
        verifier.verify_id_token(provider.sign(curve, "ES256", nonce=NONCE), NONCE)
    encryption = RSAKey.generate_key(2048, {"kid": "enc", "use": "enc"})
    provider.published.append(encryption)
    with pytest.raises(AuthenticationError, match="unknown key"):
        verifier.verify_id_token(
            provider.sign(RSAKey.import_key(encryption.as_dict(private=True) | {"use": "sig"}), nonce=NONCE), NONCE
        )


def test_curves_are_accepted(provider: TokenProvider, verifier: TokenVerifier) -> None:
    provider.key = ECKey.generate_key("P-256", {"kid": "curve"})
    provider.published = [provider.key]
    assert verifier.verify_id_token(provider.sign(algorithm="ES256", nonce=NONCE), NONCE)


def test_rotated_keys_are_fetched_once(provider: TokenProvider, verifier: TokenVerifier, ticks: Ticks) -> None:
    verifier.verify_access_token(provider.sign(aud=PUBLIC_URL))
    old = provider.key
    provider.rotate()
    for _ in range(3):
        verifier.verify_access_token(provider.sign(aud=PUBLIC_URL))
    assert provider.requests.count("/jwks") == 2
    for _ in range(3):
        with pytest.raises(AuthenticationError, match="unknown key"):
            verifier.verify_access_token(provider.sign(old, aud=PUBLIC_URL))
    assert provider.requests.count("/jwks") == 2  # strangers cannot make this server ask again and again
    ticks.now += 60
    provider.rotate("third")
    verifier.verify_access_token(provider.sign(aud=PUBLIC_URL))
    assert provider.requests.count("/jwks") == 3


def test_keys_without_ids_may_rotate(provider: TokenProvider, verifier: TokenVerifier) -> None:
    for _ in range(2):
        provider.key = RSAKey.generate_key(2048)
        provider.published = [RSAKey.import_key(provider.key.as_dict(private=True))]
        assert verifier.verify_id_token(provider.sign(nonce=NONCE), NONCE)


def test_keys_are_fetched_again_after_an_hour(provider: TokenProvider, verifier: TokenVerifier, ticks: Ticks) -> None:
    token = provider.sign(aud=PUBLIC_URL)
    verifier.verify_access_token(token)
    ticks.now += 3_600
    provider.rotate()  # the provider withdraws the key
    with pytest.raises(AuthenticationError):
        verifier.verify_access_token(token)


def test_provider_that_is_down_is_an_outage_and_recovers(
    provider: TokenProvider, verifier: TokenVerifier, ticks: Ticks
) -> None:
    token = provider.sign(aud=PUBLIC_URL)
    provider.status = 500
    with pytest.raises(ProviderUnavailableError, match="replied with status 500") as caught:
        verifier.verify_access_token(token)
    assert caught.value.retryable
    number = len(provider.requests)
    with pytest.raises(ProviderUnavailableError):
        verifier.verify_access_token(token)
    assert len(provider.requests) == number  # it is left alone for a moment
    provider.status = 200
    ticks.now += 5
    assert verifier.verify_access_token(token)


def test_provider_that_does_not_listen_is_an_outage(ticks: Ticks) -> None:
    client = OidcProvider(OidcSettings(issuer="http://127.0.0.1:9", client_id=CLIENT_ID), ticks)
    with pytest.raises(ProviderUnavailableError, match=r"127\.0\.0\.1:9 does not answer"):
        client.read_metadata()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"issuer": "https://evil.example.org"}, "calls itself"),
        ({"token_endpoint": "http://login.example.org/token"}, "token_endpoint"),
        ({"jwks_uri": None}, "jwks_uri"),
    ],
)
def test_metadata_that_cannot_be_trusted_is_an_error(
    provider: TokenProvider, ticks: Ticks, changes: dict[str, Any], fault: str
) -> None:
    provider.metadata = changes
    client = OidcProvider(OidcSettings(issuer=provider.issuer, client_id=CLIENT_ID), ticks)
    with pytest.raises(ConfigurationError, match=fault):
        client.read_metadata()


@pytest.mark.parametrize(
    "issuer", ["http://login.example.org", "login.example.org", "https://", "ftp://x", "https://[", "https://u:p@h"]
)
def test_issuer_without_https_is_an_error(issuer: str) -> None:
    with pytest.raises(ConfigurationError, match="issuer"):
        OidcProvider(OidcSettings(issuer=issuer, client_id=CLIENT_ID))


@pytest.mark.parametrize(
    "published", [[], [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}], "keys", [None, 7, {"kty": "RSA"}]]
)
def test_key_set_without_a_public_key_is_an_outage(
    provider: TokenProvider, verifier: TokenVerifier, published: Any
) -> None:
    token = provider.sign(aud=PUBLIC_URL)
    reply = provider.reply
    provider.reply = lambda path, body: (200, {"keys": published}) if path == "/jwks" else reply(path, body)  # type: ignore[method-assign]
    try:
        with pytest.raises(ProviderUnavailableError, match="unusable"):
            verifier.verify_access_token(token)
    finally:
        del provider.reply  # type: ignore[attr-defined]


def test_access_token_is_for_this_server_only(provider: TokenProvider, verifier: TokenVerifier) -> None:
    for audience in (PUBLIC_URL, f"{PUBLIC_URL}/mcp", ["other", PUBLIC_URL]):
        assert verifier.verify_access_token(provider.sign(aud=audience))
    for changes in (
        {"aud": CLIENT_ID},
        {"aud": "https://code.example.org.evil"},
        {"aud": None},
        {"aud": PUBLIC_URL, "typ": "ID"},
        {"aud": PUBLIC_URL, "nonce": NONCE},
    ):
        with pytest.raises(AuthenticationError):
            verifier.verify_access_token(provider.sign(**changes))


def test_access_token_acts_for_a_person_who_has_signed_in(
    provider: TokenProvider, verifier: TokenVerifier, tmp_path: Path
) -> None:
    world = IdentityWorld(tmp_path)
    service = AccessTokenService(world.database, world.loader, verifier, provider.issuer)
    with pytest.raises(AuthenticationError, match="nobody has signed in"):
        service.authenticate(provider.sign(aud=PUBLIC_URL), "192.0.2.1")
    user = world.add_user(role=Role.ADMIN, oidc_issuer=provider.issuer, oidc_subject="ada")
    shop, _ = world.add_repository("shop")
    principal = service.authenticate(provider.sign(aud=PUBLIC_URL, scope="openid"), "192.0.2.1")
    assert (principal.user_id, principal.kind, principal.scopes) == (user.id, "agent", {Scope.READ})
    assert principal.repository_levels == {shop: Level.READ}
    wider = service.authenticate(provider.sign(aud=PUBLIC_URL, scope="coderag:index coderag:administer"), "192.0.2.1")
    assert wider.scopes == {Scope.READ, Scope.INDEX}
    assert wider.credential_id == principal.credential_id
    assert world.loader.reload(wider) == wider
    world.change_user(user, is_active=False)
    with pytest.raises(AuthenticationError, match="disabled"):
        service.authenticate(provider.sign(aud=PUBLIC_URL), "192.0.2.1")
    world.database.close()


@pytest.fixture(scope="module")
def signed(running: TokenProvider) -> tuple[TokenVerifier, str]:
    """Return a verifier, and a token that it accepts."""
    verifier = build_verifier(running, Ticks())
    token = running.sign(aud=PUBLIC_URL)
    assert verifier.verify_access_token(token)
    return verifier, token


@given(data=st.data())
def test_no_damaged_token_is_accepted(signed: tuple[TokenVerifier, str], data: st.DataObject) -> None:
    """Change one character anywhere, or send any text: the reply is always a refusal, never a fault."""
    verifier, token = signed
    place = data.draw(st.integers(0, len(token) - 3))
    char = data.draw(st.sampled_from("Aa0_-.{é\0").filter(lambda each: each != token[place]))
    noise = data.draw(st.text(max_size=60))
    for wrong in (
        token[:place] + char + token[place + 1 :],
        noise,
        f"{noise}.{noise}.{noise}",
        token + noise + "x",
        token[:place],
    ):
        with pytest.raises(AuthenticationError):
            verifier.verify_access_token(wrong)


def test_token_of_absurd_size_or_depth_is_refused(provider: TokenProvider, verifier: TokenVerifier) -> None:
    with pytest.raises(AuthenticationError, match="too long"):
        verifier.verify_access_token(provider.sign(aud=PUBLIC_URL, extra="x" * 20_000))
    nested: Any = []
    for _ in range(900):
        nested = [nested]
    assert verifier.verify_access_token(provider.sign(aud=PUBLIC_URL, extra=nested))
