"""Over HTTP, with a real server on this machine."""

import socket
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
import uvicorn
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from coderag.interfaces.mcp.http import make_http
from tests.interfaces.mcp.conftest import data_of, text_of
from tests.interfaces.mcp.fake_workspace import FakeWorkspace

DEADLINE_S = 30


@asynccontextmanager
async def served(*repositories, workspace=None):
    """Yield the address of a server over some repositories."""
    app = make_http(workspace or FakeWorkspace(*repositories))
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [listening])
        with anyio.fail_after(DEADLINE_S):
            while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
                await anyio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True


async def test_streamable_http_answers(shop, era):
    async with served(shop) as address, Client(f"{address}/mcp", mode=era) as client:
        result = await client.call_tool("coderag_search", {"query": "checkout"})
    assert "def checkout" in text_of(result)


async def test_old_clients_are_served_over_sse(shop):
    async with served(shop) as address, Client(sse_client(f"{address}/sse"), mode="legacy") as client:
        result = await client.call_tool("coderag_symbol", {"name": "total_price"})
    assert "Cart.checkout" in text_of(result)


async def test_header_names_the_repository_of_the_session(shop, huge):
    async with served(shop, huge) as address, httpx.AsyncClient(headers={"X-CodeRAG-Root": str(huge.root)}) as http:
        transport = streamable_http_client(f"{address}/mcp", http_client=http)
        async with Client(transport) as client:
            result = await client.call_tool("coderag_status")
    assert data_of(result)["repository"] == "huge"


async def test_call_that_means_none_of_several_repositories_is_told_which_there_are(shop, huge):
    async with served(shop, huge) as address, Client(f"{address}/mcp") as client:
        result = await client.call_tool("coderag_search", {"query": "checkout"})
    assert result.is_error
    assert str(huge.root) in text_of(result)


async def test_progress_comes_over_http(shop):
    shop.is_indexed = False
    shop.on_index = lambda repository: repository.progress("chunk", 1, 2)
    heard = anyio.Event()

    async def listen(*_):
        heard.set()
        shop.finish()

    async with served(shop) as address, Client(f"{address}/mcp") as client:
        with anyio.fail_after(DEADLINE_S):
            await client.call_tool("coderag_index", {"wait_s": 20}, progress_callback=listen)
    assert heard.is_set()


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_pages_of_other_sites_are_refused(shop, path, headers):
    async with served(shop) as address, httpx.AsyncClient() as http:
        method = "POST" if path == "/mcp" else "GET"
        reply = await http.request(method, f"{address}{path}", headers=headers, json={})
    assert reply.status_code in (403, 421)


async def test_notices_come_over_http(shop):
    workspace, uri = FakeWorkspace(shop), "coderag://shop/map"
    async with served(workspace=workspace) as address, Client(f"{address}/mcp") as client:
        await client.call_tool("coderag_status")
        async with client.listen(resource_subscriptions=[uri]) as events:
            workspace.notify("generation", shop.root)
            with anyio.fail_after(DEADLINE_S):
                async for event in events:
                    assert event.uri == uri
                    break
