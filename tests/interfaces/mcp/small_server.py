"""A server of MCP with tools that do harm, in the place of the real one."""

import asyncio
import os
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from coderag import __version__
from tests.interfaces.mcp.driven_mcp import make_noise


class SmallServer(MCPServer[None]):
    @property
    def lowlevel(self) -> Any:
        return self._lowlevel_server


def make_server(workspace: object, *, default_root: Path | None = None, profile: str = "all") -> SmallServer:
    server = SmallServer("small", version=__version__)

    @server.tool()
    def noise(text: str) -> str:
        make_noise()
        return text

    @server.tool()
    async def slow(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "slept"

    @server.tool()
    async def crash() -> str:
        for task in asyncio.all_tasks():
            task.cancel()
        return "never seen"

    @server.tool()
    def die() -> str:
        os._exit(70)

    return server
