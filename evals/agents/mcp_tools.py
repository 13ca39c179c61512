"""Tools of the arm ``mcp``: those of ``coderag mcp``, over standard input and output, as any MCP client gets them."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from coderag.errors import IngestionError, ServiceError

from .toolsets import CallReply, ToolSpec

_CODERAG: Final = (sys.executable, "-m", "coderag")


class McpSessionTools:
    """Toolset of an MCP session, made by `open_mcp_tools`."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client
        self.instructions = client.instructions or ""
        self.definitions: Sequence[ToolSpec] = [
            ToolSpec(tool.name, tool.description or "", tool.input_schema)
            for tool in portal.call(client.list_tools).tools
        ]

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallReply:
        """Call a tool; the reply is the text that a client shows to its model."""
        try:
            result = self._portal.call(partial(self._client.call_tool, tool, dict(arguments)))
        except MCPError as error:
            return CallReply(str(error), is_error=True)
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        return CallReply(text, is_error=bool(result.is_error))


@contextmanager
def open_mcp_tools(root: Path) -> Iterator[McpSessionTools]:
    """Run ``coderag mcp`` for a repository, without the running service, and yield its tools.

    Raises:
        ServiceError: The server does not start.
    """
    server = StdioServerParameters(
        command=_CODERAG[0],
        args=[*_CODERAG[1:], "mcp", "-C", str(root), "--no-service"],
        env=dict(os.environ),
    )
    with start_blocking_portal() as portal:
        try:
            session = portal.wrap_async_context_manager(Client(server))
            client = session.__enter__()
        except (MCPError, OSError) as error:
            raise ServiceError(f"`coderag mcp -C {root}` does not start: {error}") from error
        try:
            yield McpSessionTools(portal, client)
        finally:
            session.__exit__(None, None, None)


def index_repository(root: Path) -> None:
    """Bring the index of a repository up to date with ``coderag index``.

    Raises:
        IngestionError: The command fails.
    """
    done = subprocess.run(
        [*_CODERAG, "index", "-C", str(root)], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise IngestionError(f"`coderag index -C {root}` failed: {lines[-1] if lines else 'no message'}")
