"""Any history of changes and killed runs ends with the server's items, for SharePoint, Azure DevOps and ClickUp."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.sources.azure_devops.source import AzureDevOpsSource
from coderag.sources.clickup.source import ClickUpSource
from coderag.sources.protocol import Checkpoint, Source
from coderag.sources.sharepoint.source import SharePointSource
from tests.unit.sources.conformance import SECRET, FakeServer
from tests.unit.sources.graph_server import DownloadServer, FixedToken
from tests.unit.sources.test_rest_conformance import POLICY, BoardsServer, SharePointServer, TasksServer

STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add", "change", "delete", "move", "run"]), st.integers(0, 7)), max_size=25
)
World = tuple[FakeServer, Callable[[], Source]]


@contextmanager
def open_sharepoint() -> Iterator[World]:
    site = "https://contoso.sharepoint.com/sites/team"
    with DownloadServer() as downloads, SharePointServer(downloads) as server:
        graph_url = f"{server.url}/v1.0"
        yield server, lambda: SharePointSource(site, FixedToken(SECRET), graph_url=graph_url, policy=POLICY)


@contextmanager
def open_azure_devops() -> Iterator[World]:
    with BoardsServer() as server:
        yield server, lambda: AzureDevOpsSource(f"{server.url}/contoso", ["Fabrikam Fiber"], SECRET, policy=POLICY)


@contextmanager
def open_clickup() -> Iterator[World]:
    with TasksServer() as server:
        yield server, lambda: ClickUpSource("9", SECRET, address=f"{server.url}/api/v2", policy=POLICY)


class Copy:
    """A copy of a source's texts by id, as the synchronisation keeps one."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.checkpoint: Checkpoint | None = None

    def update(self, source: Source, pages: int) -> None:
        """Read a number of pages, and end as a kill does."""
        for number, page in enumerate(source.read_changes(self.checkpoint)):
            if number == pages:
                break
            assert not page.failures
            self.texts |= {item.id: item.text for item in page.items}
            for item_id in page.deleted:
                self.texts.pop(item_id, None)
            self.checkpoint = page.checkpoint
        source.close()

    def forget_deleted(self, source: Source) -> None:
        ids = set(source.list_ids() or self.texts)
        source.close()
        self.texts = {item_id: text for item_id, text in self.texts.items() if item_id in ids}


@pytest.mark.parametrize("open_world", [open_sharepoint, open_azure_devops, open_clickup])
@given(steps=STEPS)
@settings(max_examples=12, deadline=None)
def test_copy_equals_the_server_after_any_history(
    open_world: Callable[[], AbstractContextManager[World]], steps: list[tuple[str, int]]
) -> None:
    texts: dict[str, str] = {}
    copy = Copy()
    with open_world() as (server, connect):
        for number, (step, choice) in enumerate(steps):
            item_id = list(texts)[choice % len(texts)] if texts else ""
            if step == "run":
                copy.update(connect(), choice)
            elif step == "add":
                texts[server.add_item(f"Title{number}", f"Text{number}")] = f"Text{number}"
            elif item_id and step == "change":
                texts[item_id] = f"Text{number}"
                server.change_item(item_id, texts[item_id])
            elif item_id and step == "delete":
                del texts[item_id]
                server.delete_item(item_id)
            elif item_id:
                server.move_item(item_id)
        copy.update(connect(), 1_000)
        copy.forget_deleted(connect())
    assert copy.texts == texts
