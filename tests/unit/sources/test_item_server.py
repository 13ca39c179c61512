from collections.abc import Iterator

import pytest

from tests.support.item_server import ItemServer, ItemServerSource
from tests.unit.sources.conformance import SECRET, RemoteSourceConformance, SourceWorld


class TestItemServer(RemoteSourceConformance):
    @pytest.fixture
    def world(self) -> Iterator[SourceWorld]:
        with ItemServer(SECRET) as server:
            yield SourceWorld(server, lambda: ItemServerSource(server.address, SECRET))
