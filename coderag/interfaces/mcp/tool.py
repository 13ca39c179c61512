"""Definition of a tool, and its conversion to a tool of the SDK."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from coderag.errors import CodeRAGError
from coderag.interfaces.mcp.arguments import ToolArguments
from coderag.interfaces.mcp.errors import format_error, format_invalid_arguments
from coderag.interfaces.mcp.progress import compute_percent, follow, format_progress
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.repositories import Repositories, RepositoryHandle
from coderag.interfaces.mcp.schemas import compact_schema
from coderag.workspace.jobs import JobView

if TYPE_CHECKING:
    from coderag.workspace.repository import OpenRepository

_Result = TypeVar("_Result")
_ArgumentsT = TypeVar("_ArgumentsT", bound=ToolArguments)


class ToolRequest:
    """A call of a tool.

    Args:
        repositories: Repositories of the server.
        ctx: Context of the request.
    """

    def __init__(self, repositories: Repositories, ctx: Context[Any, Any]) -> None:
        self.repositories = repositories
        self._ctx = ctx

    async def open(self, name: str) -> RepositoryHandle:
        """Open the repository of a call, indexed or being indexed. Raises as `Repositories.open` and ``prepare``."""
        return await self.repositories.prepare(await self.find(name), self.report)

    async def find(self, name: str) -> "OpenRepository":
        """Find the repository of a call, whether it is indexed or not. Raises as `Repositories.open`."""
        return await self.repositories.open(name, self._ctx.headers)

    async def refresh(self, handle: RepositoryHandle, timeout_s: float) -> None:
        """Update an index, waiting at most `timeout_s`."""
        await follow(await self.run(handle.repository.index), timeout_s, self.report)

    async def run(self, function: Callable[[], _Result]) -> _Result:
        """Run a function in a thread and return its result."""
        return await self.repositories.run(function)

    async def report(self, view: JobView) -> None:
        """Report the progress of a job to the client, if it asked for progress."""
        await self._ctx.report_progress(compute_percent(view), 100, format_progress(view))


@dataclass(frozen=True, slots=True)
class ToolDefinition(Generic[_ArgumentsT]):
    """A tool definition.

    Attributes:
        title: Title for people.
        description: When a model should use it and what it returns.
        arguments: Model of its arguments.
        run: Implementation.
        read_only: Whether it changes nothing.
    """

    name: str
    title: str
    description: str
    arguments: type[_ArgumentsT]
    run: Callable[[ToolRequest, _ArgumentsT], Awaitable[McpReply]]
    read_only: bool = True


class _UncheckedMetadata(FuncMetadata):
    """Metadata that leaves validation to the tool, whose error texts are written for models."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        return {"given": arguments_to_validate}


def make_tool(tool: ToolDefinition[Any], repositories: Repositories) -> Tool:
    """Make a tool of the SDK that replies to errors of CodeRAG with next steps.

    Other exceptions are handled by the SDK: it logs them, and the client gets only the name of the tool.
    """

    async def call(ctx: Context[Any, Any], given: dict[str, Any]) -> CallToolResult:
        try:
            arguments = tool.arguments.model_validate(given)
            return (await tool.run(ToolRequest(repositories, ctx), arguments)).to_call_result()
        except ValidationError as error:
            message = format_invalid_arguments(tool.name, error, tool.arguments.model_fields)
        except CodeRAGError as error:
            message = format_error(error)
        return CallToolResult(content=[TextContent(text=message)], is_error=True)

    return Tool(
        fn=call,
        name=tool.name,
        title=tool.title,
        description=tool.description,
        parameters=compact_schema(tool.arguments.model_json_schema()),
        fn_metadata=_UncheckedMetadata(arg_model=tool.arguments),
        is_async=True,
        context_kwarg="ctx",
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            idempotent_hint=True,
            destructive_hint=False,
            open_world_hint=False,
        ),
    )
