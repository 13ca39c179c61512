"""The conformance suite of sources over Confluence and Jira, Cloud and Data Center."""

from collections.abc import Iterator

import pytest

from tests.unit.sources.atlassian_servers import ConfluenceServer, JiraServer, open_confluence, open_jira
from tests.unit.sources.conformance import SECRET, SourceConformance, SourceWorld


@pytest.fixture(params=[True, False], ids=["cloud", "data-center"])
def is_cloud(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class TestConfluence(SourceConformance):
    @pytest.fixture
    def world(self, is_cloud: bool) -> Iterator[SourceWorld]:  # a fixture
        with ConfluenceServer(is_cloud=is_cloud) as server:
            server.secret, server.page_size = SECRET, 3
            yield SourceWorld(server, lambda: open_confluence(server, SECRET))


class TestJira(SourceConformance):
    @pytest.fixture
    def world(self, is_cloud: bool) -> Iterator[SourceWorld]:  # a fixture
        with JiraServer(is_cloud=is_cloud) as server:
            server.secret, server.page_size = SECRET, 3
            # A full page of Data Center may be the last one, but its total is no proof.
            yield SourceWorld(server, lambda: open_jira(server, SECRET), idle_requests=1 if is_cloud else 2)
