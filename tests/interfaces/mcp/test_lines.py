"""Sessions of MCP over a stream of lines, as the service and ``coderag mcp`` serve them."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from coderag.errors import StoreError
from coderag.interfaces.mcp.framing import MAX_LINE_BYTES
from coderag.interfaces.mcp.line_session import MAX_HELLO_BYTES, serve_lines
from coderag.workspace.workspace import Workspace

HELLO = {"coderag": 1, "root": "/work", "tools": "all"}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}


def no_workspace() -> Workspace:
    raise StoreError("there are no repositories here")


class Client:
    """The other end of a session."""

    def __init__(self, token: str | None, workspace: Callable[[], Workspace]) -> None:
        self._token, self._workspace = token, workspace

    async def connect(self) -> None:
        near, far = socket.socketpair()
        self._reader, self.writer = await asyncio.open_connection(sock=near, limit=MAX_LINE_BYTES)
        reader, writer = await asyncio.open_connection(sock=far)
        self.session = asyncio.create_task(serve_lines(self._workspace, reader, writer, token=self._token))

    async def send(self, *messages: Any) -> None:
        for message in messages:
            self.writer.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        await self.writer.drain()

    async def receive(self) -> Any:
        async with asyncio.timeout(20):
            line = await self._reader.readline()
        return json.loads(line) if line else None

    async def open(self) -> None:
        initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
        await self.send(HELLO, initialize, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (await self.receive())["ok"] is True
        assert (await self.receive())["result"]["protocolVersion"] == "2025-11-25"

    async def ended(self) -> None:
        async with asyncio.timeout(20):
            await self.session


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Any]]:
    clients = []

    async def start(token: str | None = None, workspace: Callable[[], Workspace] = no_workspace) -> Client:
        client = Client(token, workspace)
        await client.connect()
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.writer.close()
        await client.ended()


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (b"GET / HTTP/1.1\n", "hello"),
        ({"coderag": 2, "root": "/work"}, "version 1"),
        ({"coderag": 1, "token": "guess", "root": "/work"}, "token"),
        ({"coderag": 1, "token": None, "root": "/work"}, "token"),
        ({"coderag": 1, "token": "secret", "root": "work"}, "absolute"),
        ({"coderag": 1, "token": "secret"}, "root"),
        ({"coderag": 1, "token": "secret", "root": "/work", "tools": "most"}, "tools"),
    ],
)
async def test_a_client_that_says_no_good_hello_is_told_why_and_not_served(connect, hello, reason) -> None:
    client = await connect(token="secret")
    await client.send(hello, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    answer = await client.receive()
    assert (answer["ok"], reason in answer["error"]) == (False, True)
    await client.ended()
    assert await client.receive() is None


async def test_a_client_with_the_token_is_served(connect) -> None:
    client = await connect(token="secret")
    await client.send({**HELLO, "token": "secret"})
    assert await client.receive() == {"coderag": 1, "ok": True}


async def test_the_single_tool_is_given_where_it_is_asked_for(connect) -> None:
    client = await connect()
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    await client.send({**HELLO, "tools": "single"})
    await client.receive()
    await client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": envelope}})
    assert [tool["name"] for tool in (await client.receive())["result"]["tools"]] == ["search_codebase"]


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"{nonsense\n", -32700, None),
        (b"\xff\xfe\n", -32700, None),
        (b"[]\n", -32600, None),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n', -32600, None),
        (b'{"id": 7, "method": 3}\n', -32600, 7),
        (b'"x"\n', -32600, None),
        pytest.param(b"x" * (MAX_LINE_BYTES + 1) + b"\n", -32600, None, id="too long"),
    ],
)
async def test_a_line_that_is_no_message_is_refused_and_the_session_goes_on(connect, line, code, request_id) -> None:
    client = await connect()
    await client.open()
    await client.send(line)
    refusal = await client.receive()
    assert (refusal["error"]["code"], refusal["id"]) == (code, request_id)
    await client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert (await client.receive()) == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_a_client_that_goes_ends_what_runs_for_it(connect) -> None:
    asked, released = threading.Event(), threading.Event()

    def waiting() -> Workspace:
        asked.set()
        released.wait(20)
        return no_workspace()

    client = await connect(workspace=waiting)
    await client.open()
    call = {"name": "coderag_status", "arguments": {}}
    await client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    assert await asyncio.to_thread(asked.wait, 20)
    client.writer.close()
    try:
        await client.ended()
    finally:
        released.set()


async def test_a_client_that_goes_without_a_word_is_no_error(connect) -> None:
    client = await connect()
    client.writer.close()
    await client.ended()


async def test_a_client_that_says_nonsense_and_goes_is_no_fault_of_the_server(connect) -> None:
    client = await connect()
    await client.open()
    client.writer.write(b"nonsense\n" * 50_000)
    client.writer.transport.abort()
    await client.ended()  # raises what the session raised


async def test_who_has_not_said_hello_cannot_have_megabytes_kept_for_him(connect) -> None:
    client = await connect(token="secret")
    await client.send(b"x" * (MAX_HELLO_BYTES + 1))  # and no end of the line
    assert (await client.receive())["ok"] is False
    await client.ended()


async def test_a_session_may_begin_with_a_long_message_right_behind_the_hello(connect) -> None:
    client = await connect()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"x": "y" * MAX_HELLO_BYTES}}}
    initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
    await client.send(json.dumps(HELLO).encode() + b"\n" + json.dumps(initialize).encode() + b"\n", ping)
    replies = [await client.receive() for _ in range(3)]
    assert (replies[0]["ok"], replies[2]) == (True, {"jsonrpc": "2.0", "id": 1, "result": {}})
