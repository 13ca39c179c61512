"""The freshness of an index, once and as a stream."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.interfaces.rest.freshness_routes import WATCH_PATH
from coderag.interfaces.serve.activity import Activity
from coderag.interfaces.serve.hosts import KnownHosts
from coderag.interfaces.serve.rate_limit import RateLimit
from coderag.interfaces.serve.request_guard import GuardRules, RequestGuard
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient, events_of
from tests.support.corpora import write_files

DEADLINE_S = 30
FILES = {"money.py": "def round_up(value):\n    return int(value + 0.5)\n", "README.md": "# Shop\n"}
TOKEN = "the-token-of-these-tests"  # made up


class Stream:
    """Client of one stream of an ASGI app."""

    def __init__(self, app, root):
        query = f"root={root}".encode()
        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())]
        scope = {"type": "http", "method": "GET", "path": WATCH_PATH, "query_string": query, "headers": headers}
        self.sent: asyncio.Queue = asyncio.Queue()
        self.gone = asyncio.Event()
        self.status = 0
        self.task = asyncio.create_task(
            app({**scope, "raw_path": b"", "root_path": "", "scheme": "http"}, self._receive, self.sent.put)
        )

    async def _receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def read_state(self):
        """Return the data of the next event; None at the end of the stream."""
        while True:
            message = await asyncio.wait_for(self.sent.get(), DEADLINE_S)
            if message["type"] == "http.response.start":
                self.status = message["status"]
            elif message["body"]:
                for name, data in events_of(message["body"].decode()):
                    return {"event": name, **data}
            elif not message["more_body"]:
                return None

    async def wait_for(self, condition):
        while not condition(state := await self.read_state()):
            pass
        return state


@asynccontextmanager
async def open_stream(app, root):
    stream = Stream(app, root)
    try:
        yield stream
    finally:
        stream.gone.set()
        await asyncio.wait_for(stream.task, DEADLINE_S)


@pytest.fixture
def root(tmp_path):
    folder = write_files(tmp_path / "shop", FILES)
    CodeRAG(folder).index()
    return folder


def test_edits_are_listed_until_they_are_indexed(root):
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        rest = RestClient(make_app(workspace), root)
        fresh = rest.http.get(f"{API}/freshness", params={"root": str(root)}).json()
        assert (fresh["edited"], fresh["edited_count"], fresh["generation"], fresh["is_open"]) == ([], 0, 1, True)
        write_files(root, {"money.py": "def round_down(value):\n    return int(value)\n", "new.py": "x = 1\n"})
        workspace.open_repository(root).engine.flag(["money.py", "new.py"])
        stale = rest.http.get(f"{API}/freshness", params={"root": str(root)}).json()
        assert (stale["edited"], stale["edited_count"]) == (["money.py", "new.py"], 2)


def test_repository_without_an_index_has_no_generation(tmp_path):
    folder = write_files(tmp_path / "bare", FILES)
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        rest = RestClient(make_app(workspace), folder)
        state = rest.http.get(f"{API}/freshness", params={"root": str(folder)}).json()
        assert (state["generation"], state["created"], state["edited_count"]) == (0, "", 0)
        missing = rest.http.get(f"{API}/freshness/events", params={"root": str(tmp_path / "gone")})
        assert missing.status_code == 422 and "hint" in missing.json()


async def test_stream_follows_edits_jobs_and_generations(root):
    with Workspace() as workspace:
        app = make_app(workspace)
        async with open_stream(app, root) as stream:
            first = await stream.read_state()
            assert (stream.status, first["event"], first["generation"], first["edited_count"]) == (200, "state", 1, 0)
            write_files(root, {"new.py": "def added():\n    return 1\n"})
            edited = await stream.wait_for(lambda state: state["edited_count"])
            assert edited["edited"] == ["new.py"]
            indexed = await stream.wait_for(lambda state: state["generation"] == 2)
            assert indexed["edited_count"] == 0
            workspace.forget(str(root))
            closed = await stream.wait_for(lambda state: not state["is_open"])
            assert closed["edited_count"] == 0
        assert not workspace._listeners._listeners


async def test_stream_sees_an_index_that_another_process_writes(root, monkeypatch):
    monkeypatch.setattr("coderag.interfaces.rest.freshness_routes._CHECK_INTERVAL_S", 0.1)
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        async with open_stream(make_app(workspace), root) as stream:
            await stream.read_state()
            write_files(root, {"new.py": "x = 1\n"})
            await asyncio.to_thread(CodeRAG(root).index)
            assert (await stream.wait_for(lambda state: state["generation"] == 2))["is_open"]


async def test_watching_page_is_no_activity_and_ends_with_the_service(root):
    now, stopping = [0.0], asyncio.Event()
    activity = Activity(lambda: now[0])
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        rules = GuardRules(TOKEN, KnownHosts(), 30.0, max_requests=1)
        guard = RequestGuard(make_app(workspace), rules, RateLimit(100), activity, stopping)
        async with open_stream(guard, root) as stream:
            assert (await stream.read_state())["generation"] == 1
            now[0] = 500.0
            assert (activity.requests, activity.watches, activity.idle_s) == (0, 1, 500.0)
            async with open_stream(guard, root) as second:  # the first one counts for the limit of requests
                assert (await asyncio.wait_for(second.sent.get(), DEADLINE_S))["status"] == 429
            stopping.set()
            assert await stream.wait_for(lambda state: state is None) is None
        assert (activity.watches, activity.idle_s) == (0, 500.0)
