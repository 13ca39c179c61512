"""The scenarios of all connectors, for SharePoint, Azure DevOps and ClickUp."""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import timedelta

import pytest

from coderag.sources.azure_devops import queries
from coderag.sources.azure_devops import source as azure_devops
from coderag.sources.azure_devops.source import AzureDevOpsSource
from coderag.sources.clickup.source import ClickUpSource
from coderag.sources.http_client import RequestPolicy
from coderag.sources.sharepoint.source import SharePointSource
from tests.loopback import LoopbackServer, Reply, Request
from tests.unit.sources.azure_devops_server import AzureDevOpsServer
from tests.unit.sources.clickup_server import ClickUpServer
from tests.unit.sources.conformance import SECRET, RemoteSourceConformance, SourceWorld
from tests.unit.sources.graph_server import DownloadServer, FixedToken, GraphServer

pytest.importorskip("markdownify", reason="the extra sources is not installed")
POLICY = RequestPolicy(sleep=lambda _: None)


class Faults(LoopbackServer):
    """Faults on request, for a server whose requests count."""

    page_size = 3

    def __init__(self, *args: LoopbackServer) -> None:
        super().__init__(*args)
        self.failures: deque[Reply] = deque()
        self.loops = False
        self.token = SECRET

    @property
    def request_count(self) -> int:
        return len(self.requests)

    def fail_next(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"", *, times: int = 1
    ) -> None:
        self.failures = deque([Reply(body, status, headers or {})] * times)

    def refuse_key(self, *, refuses: bool = True) -> None:
        self.token = "another-key" if refuses else SECRET

    def loop_pages(self, *, loops: bool = True) -> None:
        self.loops = loops

    def respond(self, request: Request) -> Reply:
        return self.failures.popleft() if self.failures else super().respond(request)


class SharePointServer(Faults, GraphServer):
    def add_item(self, title: str, text: str) -> str:
        return f"b!docs:{self.put(f'{title}.md', text.encode())}"

    def change_item(self, item_id: str, text: str) -> None:
        entry_id = item_id.partition(":")[2]
        self.put(self.entries["b!docs"][entry_id]["name"], text.encode(), entry_id)

    def delete_item(self, item_id: str) -> None:
        self.delete(item_id.partition(":")[2])

    def move_item(self, item_id: str) -> None:
        for folder in ("Old", "New"):
            self.change(item_id.partition(":")[2], parentReference={"path": f"/drives/b!docs/root:/{folder}"})

    def _answer_delta(self, drive: str, query: dict[str, list[str]]) -> Reply:
        return super()._answer_delta(drive, {} if self.loops else query)


class TestSharePoint(RemoteSourceConformance):
    @pytest.fixture
    def world(self) -> Iterator[SourceWorld]:
        with DownloadServer() as downloads, SharePointServer(downloads) as server:
            yield SourceWorld(
                server,
                lambda: SharePointSource(
                    "https://contoso.sharepoint.com/sites/team",
                    FixedToken(SECRET),
                    includes_pages=False,
                    graph_url=f"{server.url}/v1.0",
                    policy=POLICY,
                ),
            )


class BoardsServer(Faults, AzureDevOpsServer):
    def add_item(self, title: str, text: str) -> str:
        number = max(self.items, default=0) + 1
        self.now += timedelta(seconds=1)
        self.put(number, title, Description=f"<div>{text}</div>")
        return str(number)

    def change_item(self, item_id: str, text: str) -> None:
        self.now += timedelta(seconds=1)
        self.put(int(item_id), Description=f"<div>{text}</div>")

    def delete_item(self, item_id: str) -> None:
        del self.items[int(item_id)]

    def move_item(self, item_id: str) -> None:
        for area in ("Old", "New"):
            self.now += timedelta(seconds=1)
            self.put(int(item_id), AreaPath=f"Fabrikam Fiber\\{area}")

    def _answer_query(self, wiql: str, has_time: bool) -> Reply:
        return super()._answer_query(
            "[System.Id] > 0".join(wiql.split("[System.Id] > 3")) if self.loops else wiql, has_time
        )


class TestAzureDevOps(RemoteSourceConformance):
    @pytest.fixture
    def world(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[SourceWorld]:
        monkeypatch.setattr(azure_devops, "MAX_BATCH_ITEMS", 3)
        monkeypatch.setattr(queries, "MIN_ID_WINDOW", 3)
        with BoardsServer() as server:
            server.max_results = 3
            yield SourceWorld(
                server,
                lambda: AzureDevOpsSource(f"{server.url}/contoso", ["Fabrikam Fiber"], SECRET, policy=POLICY),
                idle_requests=2,  # a query of ids, and the revisions of those that changed within the last half hour
            )


class TasksServer(Faults, ClickUpServer):
    def __init__(self) -> None:
        super().__init__()
        self.page_size = 3

    def add_item(self, title: str, text: str) -> str:
        task_id = f"t{len(self.tasks) + 1}"
        self.put(task_id, title, markdown_description=text)
        return task_id

    def change_item(self, item_id: str, text: str) -> None:
        self.put(item_id, markdown_description=text)

    def delete_item(self, item_id: str) -> None:
        del self.tasks[item_id]

    def move_item(self, item_id: str) -> None:
        for list_id in ("8", "7"):
            self.put(item_id, list={"id": list_id, "name": f"List {list_id}"})

    def _answer_tasks(self, query: dict[str, list[str]], list_id: str | None) -> Reply:
        if not self.loops:
            return super()._answer_tasks(query, list_id)
        first = super()._answer_tasks(query | {"page": ["0"], "date_updated_gt": ["0"]}, list_id)
        return Reply({**first.body, "last_page": False})


class TestClickUp(RemoteSourceConformance):
    @pytest.fixture
    def world(self) -> Iterator[SourceWorld]:
        with TasksServer() as server:
            yield SourceWorld(server, lambda: ClickUpSource("9", SECRET, address=f"{server.url}/api/v2", policy=POLICY))
