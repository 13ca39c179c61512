"""The MCP server of CodeRAG."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from mcp.server import MCPServer
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, InputRequiredResult, Resource, Tool

from coderag import __version__
from coderag.interfaces.mcp.completion import add_completion
from coderag.interfaces.mcp.instructions import INSTRUCTIONS, SINGLE_INSTRUCTIONS
from coderag.interfaces.mcp.notifications import NotificationBus
from coderag.interfaces.mcp.prompts import add_prompts
from coderag.interfaces.mcp.repositories import Repositories
from coderag.interfaces.mcp.resources import add_resources
from coderag.interfaces.mcp.tool import make_tool
from coderag.interfaces.mcp.tools.backlog import BACKLOG
from coderag.interfaces.mcp.tools.context import CONTEXT
from coderag.interfaces.mcp.tools.diff import DIFF
from coderag.interfaces.mcp.tools.docs import DOCS
from coderag.interfaces.mcp.tools.explain import EXPLAIN
from coderag.interfaces.mcp.tools.history import HISTORY
from coderag.interfaces.mcp.tools.index import INDEX
from coderag.interfaces.mcp.tools.search import SEARCH
from coderag.interfaces.mcp.tools.single import SINGLE
from coderag.interfaces.mcp.tools.status import STATUS
from coderag.interfaces.mcp.tools.symbol import SYMBOL

if TYPE_CHECKING:
    from coderag.workspace.workspace_view import WorkspaceView

Profile = Literal["all", "single"]
"""What agents get: all tools, or the one tool ``run_search_codebase``."""

_TOOLS: Final = {
    "all": (SEARCH, CONTEXT, EXPLAIN, SYMBOL, DIFF, HISTORY, DOCS, BACKLOG, STATUS, INDEX),
    "single": (SINGLE,),
}


class CodeRAGServer(MCPServer[None]):
    """MCP server, assembled by `make_server`.

    Args:
        repositories: Repositories, and threads for their calls.
        notifications: Bus for notifications to clients.
        profile: Tools that agents get.
        tools: Names of those of them that the caller may use; None for all.
    """

    def __init__(
        self,
        repositories: Repositories,
        notifications: NotificationBus,
        profile: Profile,
        tools: Collection[str] | None,
    ) -> None:
        @asynccontextmanager
        async def run_lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
            with notifications.hold_connection(repositories.release_threads):
                yield

        super().__init__(
            "coderag",
            title="CodeRAG",
            description="Finds code in indexed repositories, and says how it is connected.",
            instructions=INSTRUCTIONS if profile == "all" else SINGLE_INSTRUCTIONS,
            version=__version__,
            tools=[make_tool(tool, repositories) for tool in _TOOLS[profile] if tools is None or tool.name in tools],
            log_level="WARNING",
            lifespan=run_lifespan,
            subscriptions=notifications,
        )
        self._repositories = repositories
        # Transports create their options without arguments and would not announce list changes (mcp 2.3).
        make_options = partial(self.lowlevel.create_initialization_options, NotificationOptions(resources_changed=True))
        self.lowlevel.create_initialization_options = make_options  # type: ignore[method-assign]

    @property
    def lowlevel(self) -> Server[Any]:
        """Low-level server, to be run as ``lowlevel.run(read, write, lowlevel.create_initialization_options())``."""
        return self._lowlevel_server

    async def list_tools(self) -> list[Tool]:
        """List the tools that can do something in the session's repository."""
        tools = await super().list_tools()
        has_history = await self._repositories.may_have_history()
        is_useful = {
            DIFF.name: has_history,
            DOCS.name: await self._repositories.may_have_documents(),
            BACKLOG.name: await self._repositories.may_have_backlog(),
            HISTORY.name: has_history,
        }
        return [tool for tool in tools if is_useful.get(tool.name, True)]

    async def list_resources(self) -> list[Resource]:
        """List the resources that need no name: status and map of each repository."""
        return [*await super().list_resources(), *await self._repositories.list_resources()]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt with its facts.

        Raises:
            MCPError: The prompt is unknown or its arguments are wrong; the SDK would report that as a server error.
        """
        prompt_arguments = {entry.name: entry.arguments or [] for entry in await self.list_prompts()}
        if name not in prompt_arguments:
            raise MCPError(INVALID_PARAMS, f"There is no prompt {name!r}. There are: {', '.join(prompt_arguments)}.")
        given_names = set(arguments or ())
        if missing := [
            entry.name for entry in prompt_arguments[name] if entry.required and entry.name not in given_names
        ]:
            raise MCPError(INVALID_PARAMS, f"{name} needs {', '.join(missing)}.")
        if unknown := sorted(given_names - {entry.name for entry in prompt_arguments[name]}):
            raise MCPError(INVALID_PARAMS, f"{name} does not take {', '.join(unknown)}.")
        return await super().get_prompt(name, arguments, context)


def make_server(
    workspace: "WorkspaceView | Callable[[], WorkspaceView]",
    *,
    default_root: Path | None = None,
    profile: Profile = "all",
    tools: Collection[str] | None = None,
) -> CodeRAGServer:
    """Make an MCP server, to be run on any transport by its ``lowlevel`` server.

    It imports nothing of the engine: the handshake and the lists of tools, prompts and templates do not need it.

    Args:
        workspace: The workspace, or a function that returns it and is called once, in a worker thread, on first use.
            The owner of the workspace closes it.
        default_root: Default repository of calls. None takes the HTTP header ``X-CodeRAG-Root``, else the only known
            repository; on transports without headers ``CLAUDE_PROJECT_DIR``, else the nearest index or git root from
            the current folder upwards.
        profile: Tools that agents get.
        tools: Names of those of them that the caller may use; None for all.
    """
    notifications = NotificationBus()
    repositories = Repositories(workspace, default_root, notifications)
    server = CodeRAGServer(repositories, notifications, profile, tools)
    notifications.serve_subscriptions(server.lowlevel)
    add_resources(server, repositories)
    add_prompts(server, repositories)
    add_completion(server, repositories)
    return server
