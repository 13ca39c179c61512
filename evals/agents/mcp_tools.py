"""Tools of the arm ``mcp``: those of ``coderag mcp``, over standard input and output, as any MCP client gets them."""

import os
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

from coderag.errors import ServiceError

from .toolsets import CallReply, ToolSpec

_TIMEOUT_S: Final = 300.0  # the first call may index


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
        command=sys.executable,
        args=["-m", "coderag", "mcp", "-C", str(root), "--no-service"],
        env=dict(os.environ),
    )
    with start_blocking_portal() as portal:
        try:
            session = portal.wrap_async_context_manager(Client(server, read_timeout_seconds=_TIMEOUT_S))
            client = session.__enter__()
        except (MCPError, OSError, ExceptionGroup) as error:  # a group if the process ends
            raise ServiceError(
                f"`coderag mcp -C {root}` does not start", hint="See its message on standard error."
            ) from error
        try:
            yield McpSessionTools(portal, client)
        finally:
            session.__exit__(None, None, None)
