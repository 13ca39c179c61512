"""Repositories over SSH with deploy keys, against a real sshd."""

from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from coderag.errors import GitFetchError
from tests.support.git_origins import GitOrigin, read_files
from tests.support.server_world import ServerWorld
from tests.support.ssh_server import open_ssh_server


@pytest.fixture
def world(tmp_path):
    with open_ssh_server(tmp_path / "ssh") as ssh:
        (tmp_path / "origins").mkdir()
        origin = GitOrigin(tmp_path / "origins")
        commit = origin.commit({"a.py": "a\n"})
        server = ServerWorld(tmp_path / "server folder")
        credential = add_key(server, "deploy")
        ssh.authorized.write_text(credential.details["public_key"] + "\n")
        yield SimpleNamespace(
            ssh=ssh, server=server, commit=commit, origin=origin, credential=credential, url=ssh.url(origin.bare)
        )
        server.close()


def add_key(server, name):
    key = ed25519.Ed25519PrivateKey.generate()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    return server.credentials.create(name, "deploy_key", "127.0.0.1", text)


def fetch(world, repository):
    with world.server.repositories.open_checkout(repository.id, lambda: None, lambda progress: None) as fetched:
        return fetched.commit, read_files(fetched.checkout)


def test_a_deploy_key_fetches_and_leaves_no_trace(world):
    repository = world.server.repositories.add("shop", world.url, credential_id=world.credential.id)
    assert fetch(world, repository) == (world.commit, {"a.py": b"a\n"})
    commit = world.origin.commit({"a.py": "b\n"})
    assert fetch(world, repository) == (commit, {"a.py": b"b\n"})
    for path in world.server.folder.rglob("*"):
        assert not path.is_file() or b"PRIVATE KEY" not in path.read_bytes()
    known_hosts = (world.server.folder / "repositories" / "known_hosts").read_text()
    assert known_hosts.count("ssh-ed25519") == 1
    assert f"[127.0.0.1]:{world.ssh.port}" in known_hosts


def test_a_key_that_is_not_accepted_is_explained(world):
    credential = add_key(world.server, "other")
    repository = world.server.repositories.add("shop", world.url, credential_id=credential.id)
    with pytest.raises(GitFetchError, match="refuses the credential") as caught:
        fetch(world, repository)
    assert not caught.value.retryable


def test_a_host_key_that_changed_is_refused(world):
    repository = world.server.repositories.add("shop", world.url, credential_id=world.credential.id)
    fetch(world, repository)
    world.ssh.stop()
    world.ssh.create_host_key()
    world.ssh.start()
    with pytest.raises(GitFetchError, match="host key of the git server is not the one"):
        fetch(world, repository)
    (world.server.folder / "repositories" / "known_hosts").unlink()
    assert fetch(world, repository)[0] == world.commit


def test_a_missing_repository_is_explained(world):
    repository = world.server.repositories.add("shop", world.url + "-no", credential_id=world.credential.id)
    with pytest.raises(GitFetchError, match="no such repository"):
        fetch(world, repository)
