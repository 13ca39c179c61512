"""Object storage on a real server, one for all tests of the folder."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coderag.stores.object_storage.object_index import ObjectIndex
from tests.support.faulty_proxy import FaultyProxy
from tests.support.index_world import world
from tests.support.object_store import make_settings, run_seaweedfs

__all__ = ["world"]

OpenIndex = Callable[..., ObjectIndex]


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("obstore", reason="needs the extra s3")
    pytest.importorskip("boto3", reason="needs the package boto3")
    with run_seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as address:
        yield address


@pytest.fixture
def proxy(endpoint: str) -> Iterator[FaultyProxy]:
    with FaultyProxy(endpoint).run() as running:
        yield running


@pytest.fixture
def prefix() -> str:
    return f"team/{secrets.token_hex(4)}"


@pytest.fixture
def open_index(endpoint: str, prefix: str, tmp_path: Path) -> OpenIndex:
    """Return a function that opens the index of a machine."""

    def open_on(machine: str, *, repository: str = "shop", address: str = endpoint, **values: object) -> ObjectIndex:
        settings = make_settings(address, prefix, **values)
        return ObjectIndex(settings, repository, tmp_path / machine / ".coderag")

    return open_on
