"""Git and the API of GitHub over TLS: the name is verified although the address is fixed."""

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc.jwk import RSAKey

from coderag.errors import GitFetchError, GitUnavailableError
from tests.support.git_http_server import GitHttpServer
from tests.support.git_origins import GitOrigin, read_files
from tests.support.github_api import GitHubApi
from tests.support.server_world import ServerWorld
from tests.support.tls_certificates import create_certificate


@pytest.fixture
def world(tmp_path):
    world = ServerWorld(tmp_path / "server")
    yield world
    world.close()


def fetch(world, url, credential=None):
    identifier = None if credential is None else credential.id
    repository = world.repositories.add(f"r{len(world.repositories.list())}", url, credential_id=identifier)
    with world.repositories.open_checkout(repository.id, lambda: None, lambda progress: None) as fetched:
        return read_files(fetched.checkout)


@pytest.mark.parametrize("variable", ["GIT_SSL_CAINFO", "SSL_CERT_FILE"])
def test_a_certificate_of_the_host_is_needed_and_may_come_from_an_operator(world, tmp_path, monkeypatch, variable):
    (tmp_path / "origins").mkdir()
    certificate, context = create_certificate(tmp_path, "git.test")
    with GitHttpServer(tmp_path / "origins", context) as git:
        GitOrigin(tmp_path / "origins").commit({"a.py": "a\n"})
        with pytest.raises(GitFetchError, match="certificate of the git server cannot be verified"):
            fetch(world, git.url("shop.git", "git.test"))
        monkeypatch.setenv(variable, str(certificate))
        credential = world.credentials.create("robot", "token", "git.test", "hunter2")
        git.account = ("x-access-token", "hunter2")
        assert fetch(world, git.url("shop.git", "git.test"), credential) == {"a.py": b"a\n"}


def test_a_certificate_of_another_host_is_refused(world, tmp_path, monkeypatch):
    (tmp_path / "origins").mkdir()
    certificate, context = create_certificate(tmp_path, "other.test")
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
    with GitHttpServer(tmp_path / "origins", context) as git:
        GitOrigin(tmp_path / "origins").commit({"a.py": "a\n"})
        with pytest.raises(GitFetchError, match="certificate of the git server cannot be verified"):
            fetch(world, git.url("shop.git", "git.test"))
        assert git.requests == []


@pytest.mark.parametrize(("host", "is_accepted"), [("git.test", True), ("other.test", False)])
def test_the_api_of_github_is_verified_by_its_name(world, tmp_path, monkeypatch, host, is_accepted):
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    certificate, context = create_certificate(tmp_path, host)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    (tmp_path / "origins").mkdir()
    with (
        GitHubApi(RSAKey.import_key(pem), context) as api,
        GitHttpServer(tmp_path / "origins") as git,
    ):
        api.now = world.clock.now
        GitOrigin(tmp_path / "origins").commit({"a.py": "a\n"})
        git.account = ("x-access-token", "ghs_1")
        details = {"app_id": "1", "installation_id": "2", "api_url": f"https://git.test:{api.port}"}
        credential = world.credentials.create("app", "github_app", "git.test", pem, details=details)
        if is_accepted:
            assert fetch(world, git.url("shop.git", "git.test"), credential) == {"a.py": b"a\n"}
        else:
            with pytest.raises(GitUnavailableError, match=r"API of git\.test cannot be reached"):
                fetch(world, git.url("shop.git", "git.test"), credential)
            assert api.paths == []
