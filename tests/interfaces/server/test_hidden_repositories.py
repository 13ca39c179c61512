"""What a caller may not see changes nothing of what they get, over every route and tool."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from coderag.interfaces.rest.app import make_app
from coderag.interfaces.rest.strict_route import GATE_KEY
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY, AccessGate, ViewLoader
from coderag.interfaces.server.actions import REST_ACTIONS, TOOL_ACTIONS
from coderag.interfaces.server.mcp_gate import McpGate
from coderag.interfaces.server.mcp_pool import McpPool
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Level, Role
from coderag.server.hosted_engine import make_engine_opener
from coderag.workspace.registry import Registry
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.support.hosted_worlds import (
    QUESTIONS,
    WORDS,
    Sent,
    World,
    build_repositories,
    list_requests,
    list_tool_calls,
)
from tests.support.mirrors import SOURCES

ADA = Principal("a" * 32, "Ada", Role.MEMBER, "key", "k1")
BOB = Principal("b" * 32, "Bob", Role.MEMBER, "key", "k2")

_EXAMPLES = int(os.environ.get("CODERAG_TEST_WORLDS", "3"))
_NUMBERS = st.integers(0, len(WORDS) - 1)
_VARYING = re.compile(
    rb'"(?:id|thread|job|[a-z_]*ms|start_ns)":(?:"[^"]*"|[0-9.e+-]+|null)|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.+]*'
)
"""Values that differ between two requests of the same person: times, and identifiers of new jobs and conversations."""


class SilentAudit:
    """An audit record that keeps its entries in memory."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, ...]] = []

    def record(
        self, principal: Any, action: str, *, repository_id: str = "", outcome: str = "allowed", detail: Any = None
    ) -> None:
        self.entries.append((principal.user_id, action, repository_id, outcome, dict(detail or {})))

    def record_repositories(self, principal: Any, action: str, repository_ids: Any, **values: Any) -> None:
        for repository_id in repository_ids:
            self.record(principal, action, repository_id=repository_id, **values)

    def hash_question(self, text: str) -> str:
        return f"{len(text)} characters"


class Server:
    """A team server in this process, without a network or sign-in."""

    def __init__(self, folder: Path, registry: Path) -> None:
        self.folder = folder
        self.world = World({}, ())
        self.audit = SilentAudit()
        self.workspace = Workspace(
            WorkspaceOptions(max_repositories=3, watch=False),
            registry=Registry(registry),
            open_engine=make_engine_opener(lambda root: SOURCES),
        )
        self.views: dict[str, World] = {}
        gate = AccessGate(
            ViewLoader(self.workspace, lambda principal: self.views[principal.user_id].list_visible(folder)),
            self.audit,
            REST_ACTIONS,
        )
        self._gate = gate
        self._rest = make_app(self.workspace)

    async def send(self, principal: Principal, requests: Sequence[Sent]) -> list[tuple[str, int, bytes]]:
        """Send requests as a principal, and return what came back."""
        rest, gate = self._rest, self._gate

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope[GATE_KEY], scope[PRINCIPAL_KEY] = gate, principal
            await rest(scope, receive, send)

        replies = []
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://server", timeout=60) as client:
            for sent in requests:
                if sent.route.endswith("/events"):
                    continue  # endless for a repository that may be seen
                reply = await client.request(sent.method, f"/api/v1{sent.path}", json=sent.body)
                replies.append((f"{sent.route} {sent.path}", reply.status_code, _VARYING.sub(b"", reply.content)))
        return replies

    async def call_tools(self, principal: Principal, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Call tools as a principal, and return the replies to the handshake, the lists and the calls."""
        pool = McpPool()
        mcp = McpGate(self._gate, pool)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope[PRINCIPAL_KEY] = principal
            await mcp.serve(principal, scope, receive, send)

        try:
            async with _open_session(app) as call:
                replies = [await call("tools/list", {}), await call("resources/list", {})]
                for name, arguments in calls:
                    replies.append(await call("tools/call", {"name": name, "arguments": arguments}))
            return replies
        finally:
            await pool.close()

    def close(self) -> None:
        self.workspace.close()


@asynccontextmanager
async def _open_session(app: Any) -> AsyncIterator[Any]:
    headers = {"accept": "application/json, text/event-stream"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://server", headers=headers, timeout=60) as client:
        numbers = iter(range(1, 1_000))

        async def post(method: str, params: Any, *, is_notice: bool = False) -> Any:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            if not is_notice:
                message["id"] = next(numbers)
            reply = await client.post("/mcp", json=message)
            if session := reply.headers.get("mcp-session-id"):
                client.headers["mcp-session-id"] = session
            data = [line[5:] for line in reply.text.splitlines() if line.startswith("data:")]
            return [json.loads(line) for line in data if line.strip()] or reply.text

        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        await post("initialize", version)
        await post("notifications/initialized", {}, is_notice=True)
        yield post


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosted")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
        build_repositories(folder)
    return folder


def find_difference(seen: Sequence[Any], expected: Sequence[Any]) -> tuple[str, str] | None:
    """Return the first replies that differ, from shortly before the place where they do; None if all are equal."""
    for left, right in zip(map(repr, seen), map(repr, expected), strict=True):
        if left != right:
            start = next((n for n, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), 0)
            return left[:80] + " ... " + left[max(0, start - 80) : start + 120], right[max(0, start - 80) : start + 120]
    return None


@pytest.fixture(autouse=True)
def _own_index(folder, monkeypatch):
    """Let the indexes be this user's own in each test, although every test has a home of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))


@pytest.fixture(scope="module")
def crowded(folder, tmp_path_factory):
    """A server on which others use the repositories that Ada may not see."""
    server = Server(folder, tmp_path_factory.mktemp("crowded") / "registry.json")
    yield server
    server.close()


@st.composite
def worlds(draw: st.DrawFn) -> World:
    numbers = draw(st.permutations(range(len(WORDS))))
    visible = draw(st.integers(0, 3))
    levels = {
        number: draw(st.sampled_from([Level.READ, Level.INDEX, Level.ADMINISTER])) for number in numbers[:visible]
    }
    sources = draw(st.sampled_from([(), ("wiki",), ("tracker",), ("wiki", "tracker")]))
    return World(levels, tuple(numbers[visible:]), sources)


def test_every_route_and_tool_is_asked(folder):
    world = World(dict.fromkeys(range(len(WORDS)), Level.ADMINISTER), ())
    routes = {sent.route for sent in list_requests(world, folder, QUESTIONS[0], 0)}
    served = {route for route, action in REST_ACTIONS.items() if action not in (Action.PUBLIC, Action.LOCAL)}
    assert routes == served
    assert {name for name, _ in list_tool_calls(world, QUESTIONS[0], 0)} == {*TOOL_ACTIONS} - {"search_codebase"}


_PHASES = (Phase.explicit, Phase.generate)  # shrinking sends thousands of requests


@settings(max_examples=_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=_PHASES)
@given(world=worlds(), chosen=_NUMBERS, question=st.sampled_from(QUESTIONS))
def test_hidden_repositories_change_no_byte_of_any_reply(crowded, folder, tmp_path_factory, world, chosen, question):
    alone_world = World(world.levels, (), world.sources)
    may_index = world.levels.get(chosen, Level.NONE) >= Level.INDEX  # jobs would change what is asked meanwhile
    requests = [
        sent
        for sent in list_requests(world, folder, question, chosen)
        if not (sent.route == "POST /index" and may_index)
    ]
    calls = [
        call for call in list_tool_calls(world, question, chosen) if not (call[0] == "coderag_index" and may_index)
    ]
    everything = World(dict.fromkeys(range(len(WORDS)), Level.ADMINISTER), (), ("wiki", "tracker"))
    crowded.views = {ADA.user_id: world, BOB.user_id: everything}
    alone = Server(folder, tmp_path_factory.mktemp("alone") / "registry.json")
    try:
        alone.views = {ADA.user_id: alone_world}
        hidden_requests = [
            sent for number in world.hidden[:2] for sent in list_requests(everything, folder, question, number)
        ]
        asyncio.run(crowded.send(BOB, hidden_requests[:20]))  # caches are warm with what is hidden
        asyncio.run(alone.send(ADA, requests))  # so that both find the same conversations and feedback
        expected = asyncio.run(alone.send(ADA, requests))
        seen = asyncio.run(crowded.send(ADA, requests))
        assert find_difference(seen, expected) is None
        tools_seen, tools_expected = (
            asyncio.run(crowded.call_tools(ADA, calls)),
            asyncio.run(alone.call_tools(ADA, calls)),
        )
        assert find_difference(tools_seen, tools_expected) is None
    finally:
        alone.close()


def test_request_for_a_hidden_repository_is_refused_like_one_for_a_missing_one(crowded, folder):
    world = World({0: Level.ADMINISTER}, (1,))
    crowded.views = {ADA.user_id: world}
    hidden = asyncio.run(crowded.send(ADA, list(list_requests(world, folder, QUESTIONS[0], 1))))
    missing_world = World({0: Level.ADMINISTER}, (1,), names={1: "nothing"})
    missing = asyncio.run(crowded.send(ADA, list(list_requests(missing_world, folder, QUESTIONS[0], 1))))
    replies = [(status, body.replace(f"'{WORDS[1]}'".encode(), b"'nothing'")) for _, status, body in hidden]
    assert replies == [(status, body) for _, status, body in missing]
    assert {status for status, _ in replies if status != 200} == {404}
