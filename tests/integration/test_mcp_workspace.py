"""The MCP server over a real workspace: from nothing to an index, an edit, and the notice of a new index."""

import asyncio

import anyio
import pytest
from mcp import Client

from coderag.interfaces.mcp.server import make_server
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.mcp.conftest import data_of

DEADLINE_S = 60


@pytest.mark.slow
async def test_new_repository_is_indexed_edited_and_told_of(tmp_path):
    root = tmp_path / "app"
    root.mkdir()
    (root / "greeting.py").write_text("def greet(name):\n    return 'hello ' + name\n")
    workspace = Workspace(WorkspaceOptions(watch=False))
    uri = "coderag://app/status"
    try:
        async with Client(make_server(workspace, default_root=root)) as client:
            with anyio.fail_after(DEADLINE_S):
                first = await client.call_tool("coderag_search", {"query": "greet"})
                assert "greeting.py" in first.content[0].text
                await client.call_tool("coderag_index", {"wait_s": 60})
                (root / "greeting.py").write_text("# moved\n\n\ndef greet(name):\n    return 'good day ' + name\n")
                found = await client.call_tool("coderag_search", {"query": "greet"})
                assert "good day" in found.content[0].text
                async with client.listen(resource_subscriptions=[uri]) as events:
                    await client.call_tool("coderag_index", {"wait_s": 60})
                    async for event in events:
                        assert event.uri == uri
                        break
                symbol = await client.call_tool("coderag_symbol", {"name": "greet"})
        assert data_of(symbol)["definitions"][0]["start_line"] in (1, 4)
        assert "good day" in data_of(symbol)["definitions"][0]["code"]
    finally:
        await asyncio.to_thread(workspace.close)
