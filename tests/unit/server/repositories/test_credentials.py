"""Credentials of git servers: sealed, given to one host only, and never shown."""

import base64
import stat
import threading

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from joserfc.jwk import RSAKey

from coderag.errors import (
    ConfigurationError,
    DuplicateNameError,
    GitFetchError,
    GitUnavailableError,
    InvalidValueError,
    UnknownNameError,
)
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.git_url import check_url
from coderag.server.sealing import MasterKey
from tests.support.github_api import GitHubApi
from tests.support.server_world import ServerWorld, resolve_to

SECRET = "glpat-hunter2-hunter2"


def make_key(key, form=PrivateFormat.OpenSSH, encryption=None):
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


ED25519 = make_key(ed25519.Ed25519PrivateKey.generate())
LOCKED = make_key(ed25519.Ed25519PrivateKey.generate(), PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
DSA = make_key(dsa.generate_private_key(2048), PrivateFormat.PKCS8)
APP = {"app_id": "1", "installation_id": "2"}
RSA = make_key(rsa.generate_private_key(65537, 2048), PrivateFormat.TraditionalOpenSSL)


@pytest.fixture
def world(tmp_path):
    world = ServerWorld(tmp_path)
    yield world
    world.close()


def open_access(world, credential, url="https://git.test/shop"):
    address = check_url(url, world.settings, resolve=resolve_to("127.0.0.1"))
    identifier = None if credential is None else credential.id
    return world.credentials.open_access(identifier, address, world.folder / "secrets", world.folder / "known_hosts")


def header_of(access):
    values = [value for name, value in access.config if name.endswith(".extraHeader")]
    return base64.b64decode(values[0].removeprefix("Authorization: Basic ")).decode() if values else None


@pytest.mark.parametrize(
    ("kind", "details", "header"),
    [
        ("token", {}, f"x-access-token:{SECRET}"),
        ("token", {"user": "robot"}, f"robot:{SECRET}"),
        ("gitlab_token", {}, f"oauth2:{SECRET}"),
    ],
)
def test_a_token_goes_to_its_own_host_by_basic_authentication(world, kind, details, header):
    credential = world.credentials.create("robot", kind, "Git.Test", f" {SECRET}\n", details=details)
    with open_access(world, credential) as access:
        assert header_of(access) == header
        name = next(name for name, _ in access.config if name.endswith("extraHeader"))
        assert name == "http.https://git.test:443/.extraHeader"
        assert SECRET not in repr(access)
        assert base64.b64encode(header.encode()).decode() not in repr(access)


def test_no_credential_sends_nothing(world):
    with open_access(world, None) as access:
        assert header_of(access) is None


def test_a_secret_is_sealed_and_shown_nowhere(world):
    credential = world.credentials.create("robot", "token", "git.test", SECRET)
    shown = [repr(vars(item)) for item in (credential, *world.credentials.list(), world.credentials.get(credential.id))]
    assert not any(SECRET in text for text in shown)
    for path in world.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_a_secret_needs_the_master_key_it_was_sealed_with(world):
    credential = world.credentials.create("robot", "token", "git.test", SECRET)
    world.credentials = CredentialService(world.database, MasterKey(b"x" * 32), world.settings)
    with pytest.raises(ConfigurationError, match="master key"), open_access(world, credential):
        pass


@pytest.mark.parametrize(
    ("kind", "secret", "url", "message"),
    [
        ("token", SECRET, "https://127.0.0.1/x", "is for git.test, not for 127.0.0.1"),
        ("token", SECRET, "ssh://git@git.test/x", "of kind token cannot be used with ssh"),
        ("deploy_key", ED25519, "https://git.test/x", "of kind deploy_key cannot be used with https"),
        (None, "", "git@git.test:x", "needs a deploy key"),
    ],
)
def test_a_credential_is_not_sent_where_it_does_not_belong(world, kind, secret, url, message):
    credential = None if kind is None else world.credentials.create("robot", kind, "git.test", secret)
    with pytest.raises(GitFetchError, match=message), open_access(world, credential, url):
        pass


def test_a_deploy_key_is_a_private_file_only_while_it_is_used(world):
    credential = world.credentials.create("deploy", "deploy_key", "git.test", ED25519)
    assert credential.details["public_key"].startswith("ssh-ed25519 ")
    assert credential.details["fingerprint"].startswith("SHA256:")
    with open_access(world, credential, "git@git.test:shop") as access:
        path = world.folder / "secrets" / "key"
        assert path.read_text() == ED25519
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        command = access.environment["GIT_SSH_COMMAND"]
        assert "PRIVATE" not in command
        for option in (
            "StrictHostKeyChecking=accept-new",
            "HostName=127.0.0.1",
            "HostKeyAlias=git.test",
            "ProxyCommand=none",
        ):
            assert option in command
    assert not path.exists()


@pytest.mark.parametrize(
    "key",
    [
        ed25519.Ed25519PrivateKey.generate(),
        rsa.generate_private_key(65537, 2048),
        ec.generate_private_key(ec.SECP256R1()),
    ],
)
def test_usual_deploy_keys_are_taken(world, key):
    credential = world.credentials.create("deploy", "deploy_key", "git.test", make_key(key).replace("\n", "\r\n"))
    with open_access(world, credential, "git@git.test:shop"):
        text = (world.folder / "secrets" / "key").read_text()
        assert text.endswith("-----\n")
        assert "\r" not in text


@pytest.mark.parametrize(
    ("kind", "host", "secret", "details", "message"),
    [
        ("password", "git.test", SECRET, {}, "no kind of credential 'password'"),
        ("token", "git.test", " ", {}, "secret of the credential is empty"),
        ("token", "git.test", "two words", {}, "character that no token has"),
        ("token", "git.test", "x\r\nX-Evil: 1", {}, "character that no token has"),
        ("token", "git.test", "x" * 5000, {}, "too long"),
        ("token", "git.test", SECRET, {"user": "a:b"}, "user of the token is invalid"),
        ("token", "git.test", SECRET, {"usr": "a"}, "no detail 'usr'"),
        ("token", "git.test/x", SECRET, {}, "host 'git.test/x' is invalid"),
        ("token", "a@git.test", SECRET, {}, "host .* is invalid"),
        ("token", "127.1", SECRET, {}, "invalid host 127.1"),
        ("token", "", SECRET, {}, "host '' is invalid"),
        ("deploy_key", "git.test", "nonsense", {}, "cannot be read"),
        ("deploy_key", "git.test", make_key(rsa.generate_private_key(65537, 1024)), {}, "1024 bits"),
        ("deploy_key", "git.test", LOCKED, {}, "needs a passphrase"),
        ("deploy_key", "git.test", DSA, {}, "kind that is not accepted"),
        ("deploy_key", "git.test", "x" * 40_000, {}, "too long"),
        ("github_app", "github.com", RSA, {}, "needs app_id and installation_id"),
        ("github_app", "github.com", RSA, APP | {"installation_id": "../x"}, "needs app_id and installation_id"),
        ("github_app", "github.com", ED25519, APP, "must be an RSA key"),
        ("github_app", "github.com", RSA, APP | {"api_url": "file:///x"}, "malformed|not accepted"),
        ("github_app", "github.com", RSA, APP | {"api_url": "ssh://a/x"}, "needs a URL of https"),
    ],
)  # fmt: skip
def test_a_credential_that_cannot_work_is_refused_without_its_secret(world, kind, host, secret, details, message):
    with pytest.raises(InvalidValueError, match=message) as caught:
        world.credentials.create("robot", kind, host, secret, details=details)
    assert caught.value.hint
    assert len(secret) < 5 or secret not in str(caught.value)
    assert world.credentials.list() == []


def test_names_are_unique_and_checked(world):
    world.credentials.create("robot", "token", "git.test", SECRET)
    with pytest.raises(DuplicateNameError, match="'robot' is taken"):
        world.credentials.create("robot", "token", "git.test", SECRET)
    for name in ("", "a b", "../x", "-x", "f" * 32, "x" * 101, "a//b"):
        with pytest.raises(InvalidValueError, match="name"):
            world.credentials.create(name, "token", "git.test", SECRET)


def test_a_credential_in_use_stays(world):
    credential = world.credentials.create("robot", "token", "git.test", SECRET)
    repository = world.repositories.add("shop", "https://git.test/shop", credential_id=credential.id)
    with pytest.raises(InvalidValueError, match="used by repositories: shop"):
        world.credentials.remove(credential.id)
    world.repositories.update(repository.id, credential_id=None)
    world.credentials.remove(credential.id)
    assert world.credentials.list() == []
    for call in (world.credentials.get, world.credentials.remove):
        with pytest.raises(UnknownNameError):
            call(credential.id)


# -- GitHub Apps


@pytest.fixture
def api(world):
    with GitHubApi(RSAKey.import_key(RSA)) as api:
        api.now = world.clock.now
        yield api


def make_app(world, api, name="app"):
    details = {"app_id": "Iv1.abc", "installation_id": "42", "api_url": f"http://git.test:{api.port}/api/v3/"}
    return world.credentials.create(name, "github_app", "git.test", RSA, details=details)


def test_an_app_exchanges_a_short_signed_token_for_one_of_the_installation(world, api):
    with open_access(world, make_app(world, api)) as access:
        assert header_of(access) == "x-access-token:ghs_1"
    now = int(world.clock.now.timestamp())
    (claims,) = api.claims
    assert claims["iss"] == "Iv1.abc"
    assert now - 120 <= claims["iat"] <= now
    assert now < claims["exp"] <= now + 600
    assert api.paths == ["/api/v3/app/installations/42/access_tokens"]
    assert api.hosts == [f"git.test:{api.port}"]


def test_a_token_of_an_app_is_kept_until_shortly_before_it_expires(world, api):
    credential = make_app(world, api)
    headers = []
    for minutes in (0, 30, 20, 6):
        world.clock.advance(minutes=minutes)
        api.now = world.clock.now
        with open_access(world, credential) as access:
            headers.append(header_of(access))
    assert headers == ["x-access-token:ghs_1"] * 3 + ["x-access-token:ghs_2"]


def test_threads_exchange_one_token(world, api):
    credential = make_app(world, api)
    headers = []

    def take():
        with open_access(world, credential) as access:
            headers.append(header_of(access))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert headers == ["x-access-token:ghs_1"] * 8
    assert len(api.claims) == 1


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (401, b"{}", GitFetchError, "refuses the app or its installation with status 401"),
        (404, b"{}", GitFetchError, "status 404"),
        (500, b"oops", GitUnavailableError, "status 500"),
        (200, b"{}", GitUnavailableError, "status 200"),
        (201, b"no json", GitUnavailableError, "cannot be read"),
        (201, b"[]", GitUnavailableError, "cannot be read"),
        (201, b'{"token": "a\\nb", "expires_at": "2030-01-01T00:00:00Z"}', GitUnavailableError, "cannot be read"),
        (201, b'{"token": "a", "expires_at": "soon"}', GitUnavailableError, "cannot be read"),
        (201, b"x" * 2_000_000, GitUnavailableError, "too long"),
    ],
)  # fmt: skip
def test_an_exchange_that_fails_is_explained(world, api, status, body, error, message):
    api.status, api.body = status, body
    with pytest.raises(error, match=message) as caught, open_access(world, make_app(world, api)):
        pass
    assert caught.value.retryable == (error is GitUnavailableError)
    assert "ghs_" not in str(caught.value)


def test_the_api_of_an_app_cannot_redirect_nor_lie_inside(world, api):
    api.redirect = f"http://127.0.0.1:{api.port}/elsewhere"
    with pytest.raises(GitUnavailableError, match="status 302"), open_access(world, make_app(world, api)):
        pass
    assert len(api.paths) == 1
    details = APP | {"api_url": "http://metadata.test/"}
    inside = world.credentials.create("inside", "github_app", "git.test", RSA, details=details)
    with pytest.raises(InvalidValueError, match="not public"), open_access(world, inside):
        pass


def test_an_api_that_is_down_may_be_tried_again(world):
    details = APP | {"api_url": "http://git.test:1/"}
    credential = world.credentials.create("app", "github_app", "git.test", RSA, details=details)
    with pytest.raises(GitUnavailableError, match="cannot be reached"), open_access(world, credential):
        pass
