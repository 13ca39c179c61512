"""A team server's identity over an empty database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.identity_world import IdentityWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IdentityWorld]:
    world = IdentityWorld(tmp_path)
    yield world
    world.database.close()
