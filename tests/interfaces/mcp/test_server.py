"""What the server tells of itself, and that it is light."""

import json
import subprocess
import sys
import threading

import pytest
from mcp import Client

from coderag.config import sections as settings
from coderag.interfaces.mcp import arguments
from coderag.interfaces.mcp.server import make_server
from coderag.text.token_counts import count_tokens
from tests.interfaces.mcp.conftest import connected, data_of
from tests.interfaces.mcp.fake_workspace import FakeWorkspace

MOST_TOKENS = 2_700


async def tools_of(profile="all"):
    async with Client(make_server(lambda: None, profile=profile)) as client:
        return (await client.list_tools()).tools


async def test_list_of_tools_is_short():
    """A client sends it to its model with every conversation."""
    listed = [
        json.dumps(tool.model_dump(by_alias=True, mode="json", exclude_none=True), separators=(",", ":"))
        for tool in await tools_of()
    ]
    assert sum(map(count_tokens, listed)) <= MOST_TOKENS


@pytest.mark.parametrize("profile", ["all", "single"])
async def test_every_parameter_is_described(profile):
    for tool in await tools_of(profile):
        assert tool.title
        assert tool.output_schema is None
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}.{name}"


async def test_only_the_index_tool_is_not_read_only():
    tools = await tools_of()
    assert [tool.name for tool in tools if not tool.annotations.read_only_hint] == ["coderag_index"]
    assert all(not tool.annotations.open_world_hint and not tool.annotations.destructive_hint for tool in tools)
    assert all(tool.annotations.idempotent_hint for tool in tools)


async def test_instructions_say_when_to_use_it(era):
    async with Client(make_server(lambda: None), mode=era) as client:
        assert "Prefer it to grep" in client.instructions


async def test_old_clients_are_told_that_resources_can_be_subscribed_to():
    async with Client(make_server(lambda: None), mode="legacy") as client:
        assert client.server_capabilities.resources.subscribe
        assert client.server_capabilities.resources.list_changed
        assert client.server_capabilities.logging is None


@pytest.mark.slow
def test_engine_is_not_imported_before_it_is_asked():
    program = (
        "import sys; from coderag.interfaces.mcp.server import make_server; make_server(lambda: None); "
        "heavy = ('coderag.app', 'coderag.config.settings', 'numpy', 'pyarrow', 'lancedb'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_workspace_is_made_once_and_only_when_it_is_needed(shop):
    made = []

    def make():
        made.append(FakeWorkspace(shop))
        return made[-1]

    async with Client(make_server(make, default_root=shop.root)) as client:
        await client.list_tools()
        await client.list_prompts()
        assert not made
        await client.call_tool("coderag_status")
        await client.call_tool("coderag_status")
    assert len(made) == 1


@pytest.mark.slow
async def test_page_after_page_has_each_result_once(huge):
    seen = []
    async with connected(huge) as client:
        for offset in range(0, 60, 12):
            given = {"query": "part of the target", "top_k": 12, "offset": offset, "snippet_lines": 0}
            result = await client.call_tool("coderag_search", given)
            seen += [(one["path"], one["start_line"]) for one in data_of(result)["results"]]
    assert len(seen) == 60
    assert len(set(seen)) == 60


async def test_pages_of_exact_matches_go_on_to_the_end(huge):
    seen = []
    async with connected(huge) as client:
        for offset in (0, 50, 100):
            given = {"query": "return target\n", "mode": "exact", "top_k": 50, "offset": offset}
            result = await client.call_tool("coderag_search", given)
            seen += [(one["path"], one["start_line"]) for one in data_of(result)["results"]]
            assert data_of(result)["total"] == 300
    assert len(set(seen)) == len(seen) == 150


def test_limits_are_those_of_the_settings():
    assert (arguments.MIN_TOKENS, arguments.MAX_RANKED_RESULTS) == (settings.MIN_TOKENS, settings.MAX_RESULTS)


async def test_threads_end_with_the_last_client(shop):
    others = set(threading.enumerate())  # servers of other tests in this process
    async with connected(shop) as client:
        await client.call_tool("coderag_status")
        threads = [one for one in threading.enumerate() if one.name.startswith("mcp") and one not in others]
        assert threads
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
