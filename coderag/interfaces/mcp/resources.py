"""MCP resources: known repositories, their status and map, file outlines, symbols."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from coderag.errors import CodeRAGError, InvalidQueryError, UnknownNameError
from coderag.interfaces.mcp.arguments import SymbolArguments
from coderag.interfaces.mcp.definition_parts import format_outline
from coderag.interfaces.mcp.errors import format_error
from coderag.interfaces.mcp.notifications import REPOSITORIES_URI
from coderag.interfaces.mcp.paths import normalize_place, refuse_path
from coderag.interfaces.mcp.progress import format_progress
from coderag.interfaces.mcp.replies import MAX_REPLY_CHARS
from coderag.interfaces.mcp.repositories import Repositories, RepositoryHandle
from coderag.interfaces.mcp.repository_map import build_repository_map
from coderag.interfaces.mcp.tool import ToolRequest
from coderag.interfaces.mcp.tools.status import build_status_reply
from coderag.interfaces.mcp.tools.symbol import run_symbol

if TYPE_CHECKING:
    from coderag.workspace.results import KnownRepository

_MARKDOWN, _JSON = "text/markdown", "application/json"
_MAX_REPOSITORIES = 100


def add_resources(server: MCPServer[Any], repositories: Repositories) -> None:
    """Register the resources."""

    @server.resource(
        REPOSITORIES_URI, name="repositories", title="Known repositories", mime_type=_JSON,
        description="The repositories that were indexed or opened on this machine, the last used first.",
    )  # fmt: skip
    async def list_known_repositories() -> str:
        workspace = await repositories.get_workspace()
        return json.dumps(
            [_to_record(entry) for entry in (await repositories.run(workspace.list_repositories))[:_MAX_REPOSITORIES]],
            indent=1,
        )

    @server.resource(
        "coderag://{repository}/status", name="status", title="Index status", mime_type=_JSON,
        description="What is indexed, whether it is fresh, how far a run is.",
    )  # fmt: skip
    async def read_status(repository: str, ctx: Context[Any, Any]) -> str:
        with _translate_errors():
            open_repository = await ToolRequest(repositories, ctx).find(repository)
            return json.dumps((await repositories.run(partial(build_status_reply, open_repository))).facts, indent=1)

    @server.resource(
        "coderag://{repository}/map", name="map", title="Repository map", mime_type=_MARKDOWN,
        description="Folders, and the most used files and declarations, in about 4,000 tokens.",
    )  # fmt: skip
    async def read_map(repository: str, ctx: Context[Any, Any]) -> str:
        with _translate_errors():
            handle = await ToolRequest(repositories, ctx).open(repository)
            return _format_pending(handle) or await repositories.run(partial(build_map, handle))

    @server.resource(
        "coderag://{repository}/outline/{+path}", name="outline", title="File outline", mime_type=_MARKDOWN,
        description="The declarations of a file, nested, with their lines.",
    )  # fmt: skip
    async def read_outline(repository: str, path: str, ctx: Context[Any, Any]) -> str:
        with _translate_errors():
            handle = await ToolRequest(repositories, ctx).open(repository)
            return _format_pending(handle) or await repositories.run(partial(_build_outline, handle, path))

    @server.resource(
        "coderag://{repository}/symbol/{name}", name="symbol", title="Symbol", mime_type=_MARKDOWN,
        description="A declaration with its code, callers, callees and tests.",
    )  # fmt: skip
    async def read_symbol(repository: str, name: str, ctx: Context[Any, Any]) -> str:
        with _translate_errors():
            reply = await run_symbol(ToolRequest(repositories, ctx), SymbolArguments(name=name, repository=repository))
            return reply.render()[0]


def build_map(handle: RepositoryHandle) -> str:
    """Build the map of a repository."""
    return build_repository_map(handle.engine.graph, handle.name, handle.make_cleaner())


def _build_outline(handle: RepositoryHandle, given_path: str) -> str:
    cleaner, path = handle.make_cleaner(), normalize_place(handle.repository.root, given_path)
    try:
        lines = format_outline(path, handle.engine.graph.outline(path), cleaner)
    except UnknownNameError as error:
        refuse_path(handle.engine, path, error)
    text = f"# Outline of {cleaner.clean_line(path)}\n\n" + "\n".join(lines)
    if len(text) <= MAX_REPLY_CHARS:
        return text
    return text[: text.rfind("\n", 0, MAX_REPLY_CHARS - 100)] + "\n(cut; coderag_explain has it by parts)"


def _format_pending(handle: RepositoryHandle) -> str:
    if handle.indexing_job is None:
        return ""
    progress = format_progress(handle.indexing_job)
    return f"{handle.name} is being indexed for the first time ({progress}). Read this again in a moment."


def _to_record(entry: "KnownRepository") -> dict[str, Any]:
    return {
        "name": entry.name,
        "root": entry.root,
        "used": entry.used,
        "is_open": entry.is_open,
        "is_indexed": entry.is_indexed,
    }


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate errors of CodeRAG into resource errors of the SDK."""
    try:
        yield
    except InvalidQueryError as error:
        raise ResourceNotFoundError(format_error(error)) from error
    except CodeRAGError as error:
        raise ResourceError(format_error(error)) from error
