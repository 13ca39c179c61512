"""`coderag mcp` with the Python SDK's client, with and without a service behind it, and when that is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.interfaces.mcp.stdio_client import StdioClient

CHECKOUT = Path(__file__).parents[2]
CODERAG = [sys.executable, "-m", "coderag"]
pytestmark = pytest.mark.slow


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(CHECKOUT)}


@pytest.fixture
def repository(tmp_path) -> Path:
    """A folder that is not indexed: the first answer is that of a quick pass."""
    (tmp_path / "cart.py").write_text(
        'def checkout(cart):\n    """Charge the customer."""\n    return cart.total()\n', encoding="utf-8"
    )
    return tmp_path


@pytest.fixture
def start(environment, repository) -> Iterator[Callable[..., StdioClient]]:
    clients = []

    def start(*arguments: str, **variables: str) -> StdioClient:
        client = StdioClient("none", arguments, environment={**environment, **variables}, here=repository)
        clients.append(client)
        client.open()
        return client

    yield start
    for client in clients:
        client.abandon()


@pytest.fixture
def service(environment) -> Iterator[dict[str, str]]:
    """A running service: what its file says."""
    subprocess.run([*CODERAG, "serve", "--background"], env=environment, check=True, capture_output=True, timeout=120)
    yield json.loads(Path(environment["XDG_RUNTIME_DIR"], "coderag", "service.json").read_text(encoding="utf-8"))
    subprocess.run([*CODERAG, "serve", "--stop"], env=environment, check=True, capture_output=True, timeout=120)


def text_of(reply: dict) -> str:
    return reply["result"]["content"][0]["text"]


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_the_client_of_the_python_sdk_searches(environment, repository, mode, version) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "coderag", "mcp", "-C", str(repository)], env=environment
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        assert client.protocol_version == version
        assert "coderag_search" in [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("coderag_search", {"query": "charge the customer"})
        assert "cart.py:1-3" in found.content[0].text


def test_a_service_is_started_if_the_settings_say_so_and_outlives_the_session(environment, start) -> None:
    client = start(CODERAG_SERVICE__AUTOSTART="true")
    try:
        assert "cart.py:1-3" in text_of(client.call("coderag_search", query="charge the customer"))
        client.close_input()
        assert client.end() == 0
    finally:
        stopped = subprocess.run(
            [*CODERAG, "serve", "--stop"], env=environment, capture_output=True, timeout=120, check=False
        )
    assert b"stopped" in stopped.stderr, "no service was running"


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_a_service_that_is_killed_is_replaced_within_the_session(service, start) -> None:
    client = start()
    assert "cart.py:1-3" in text_of(client.call("coderag_search", query="charge the customer"))
    os.kill(service["pid"], signal.SIGSTOP)
    request = client.begin("tools/call", {"name": "coderag_search", "arguments": {"query": "charge"}})
    os.kill(service["pid"], signal.SIGKILL)
    assert "again" in client.reply(request)["error"]["message"]
    assert "cart.py:1-3" in text_of(client.call("coderag_search", query="charge the customer"))
    client.close_input()
    assert client.end() == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in client.lines)


def test_allowed_roots_hold_where_a_service_runs_that_has_none(service, start, tmp_path_factory) -> None:
    other = tmp_path_factory.mktemp("other")
    client = start("--allow-root", str(other))
    assert client.call("coderag_search", query="charge the customer")["result"]["isError"]


def test_the_single_tool_is_chosen_by_option(start) -> None:
    client = start("--tools", "single", "--no-service")
    assert [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]] == ["search_codebase"]
