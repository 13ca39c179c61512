"""Regenerate `coderag/interfaces/mcp/stdio/handshake.json`: the MCP server's replies to the first request of a session.

``coderag mcp`` sends these replies before any slow import. Run this after a change of the server's capabilities, title or
instructions, and after an update of the MCP SDK; a test fails when it is due::

    python tools/mcp_handshake.py
"""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from coderag import __version__
from coderag.errors import StoreError
from coderag.interfaces.mcp.line_session import serve_lines
from coderag.interfaces.mcp.stdio.handshake import CAPABILITIES_KEY, HANDSHAKE_FILE, PROTOCOL_KEY, VERSION_PLACEHOLDER
from coderag.workspace.workspace import Workspace

CLIENT = {"name": "handshake", "version": "1"}


def main() -> None:
    """Write the file."""
    replies = asyncio.run(collect_replies())
    text = json.dumps(replies, indent=1, ensure_ascii=False) + "\n"
    HANDSHAKE_FILE.write_text(
        text.replace(f'"version": "{__version__}"', f'"version": "{VERSION_PLACEHOLDER}"'), encoding="utf-8"
    )
    print(f"{HANDSHAKE_FILE}: {len(text)} characters")


async def collect_replies() -> dict[str, dict[str, dict[str, object]]]:
    """Return the server's replies by profile, method and protocol version."""
    return {
        profile: {
            "initialize": {
                version: await ask_server(profile, "initialize", initialize_params(version))
                for version in HANDSHAKE_PROTOCOL_VERSIONS
            },
            "discover": {
                version: await ask_server(profile, "server/discover", discover_params(version))
                for version in MODERN_PROTOCOL_VERSIONS
            },
        }
        for profile in ("all", "single")
    }


def initialize_params(version: str) -> dict[str, Any]:
    """Return the parameters of an ``initialize``."""
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}


def discover_params(version: str) -> dict[str, Any]:
    """Return the parameters of a ``server/discover``."""
    return {"_meta": {PROTOCOL_KEY: version, CAPABILITIES_KEY: {}}}


async def ask_server(profile: str, method: str, params: dict[str, Any]) -> object:
    """Return the result of one request to the server, in a session of its own."""
    client_end, server_end = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=client_end)
    session = asyncio.create_task(
        serve_lines(_refuse_workspace, *await asyncio.open_connection(sock=server_end), token=None)
    )
    hello = {"coderag": 1, "root": str(Path.cwd()), "tools": profile}
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    writer.write(b"".join(json.dumps(message).encode() + b"\n" for message in (hello, request)))
    assert json.loads(await reader.readline())["ok"]
    reply = json.loads(await reader.readline())
    writer.close()
    await session
    return reply.get("result", reply)


def _refuse_workspace() -> Workspace:
    raise StoreError("a handshake needs no repositories")


if __name__ == "__main__":
    main()
