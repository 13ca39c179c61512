"""Resources: the known repositories; of each its status and map; the outline of a file; a symbol."""

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
from coderag.interfaces.mcp.errors import told_error
from coderag.interfaces.mcp.following import told
from coderag.interfaces.mcp.maps import repository_map
from coderag.interfaces.mcp.missing import as_place, refuse_path
from coderag.interfaces.mcp.notices import REPOSITORIES_URI
from coderag.interfaces.mcp.replies import MOST_CHARACTERS
from coderag.interfaces.mcp.repositories import Opened, Repositories
from coderag.interfaces.mcp.tool import Call
from coderag.interfaces.mcp.tools.explain import outline_lines
from coderag.interfaces.mcp.tools.status import status_reply
from coderag.interfaces.mcp.tools.symbol import symbol

if TYPE_CHECKING:
    from coderag.workspace.results import KnownRepository

_MARKDOWN, _JSON = "text/markdown", "application/json"
_MOST_KNOWN = 100


def add_resources(server: MCPServer[Any], repositories: Repositories) -> None:
    """Register the resources."""

    @server.resource(
        REPOSITORIES_URI, name="repositories", title="Known repositories", mime_type=_JSON,
        description="The repositories that were indexed or opened on this machine, the last used first.",
    )  # fmt: skip
    async def known_repositories() -> str:
        workspace = await repositories.workspace()
        return json.dumps([_known(one) for one in (await repositories.run(workspace.known))[:_MOST_KNOWN]], indent=1)

    @server.resource(
        "coderag://{repository}/status", name="status", title="Index status", mime_type=_JSON,
        description="What is indexed, whether it is fresh, how far a run is.",
    )  # fmt: skip
    async def status_of(repository: str, ctx: Context[Any, Any]) -> str:
        with _told_errors():
            found = await Call(repositories, ctx).find(repository)
            return json.dumps((await repositories.run(partial(status_reply, found))).facts, indent=1)

    @server.resource(
        "coderag://{repository}/map", name="map", title="Repository map", mime_type=_MARKDOWN,
        description="Folders, and the most used files and declarations, in about 4,000 tokens.",
    )  # fmt: skip
    async def map_of(repository: str, ctx: Context[Any, Any]) -> str:
        with _told_errors():
            opened = await Call(repositories, ctx).open(repository)
            return _pending(opened) or await repositories.run(partial(mapped, opened))

    @server.resource(
        "coderag://{repository}/outline/{+path}", name="outline", title="File outline", mime_type=_MARKDOWN,
        description="The declarations of a file, nested, with their lines.",
    )  # fmt: skip
    async def outline_of(repository: str, path: str, ctx: Context[Any, Any]) -> str:
        with _told_errors():
            opened = await Call(repositories, ctx).open(repository)
            return _pending(opened) or await repositories.run(partial(_outlined, opened, path))

    @server.resource(
        "coderag://{repository}/symbol/{name}", name="symbol", title="Symbol", mime_type=_MARKDOWN,
        description="A declaration with its code, callers, callees and tests.",
    )  # fmt: skip
    async def symbol_of(repository: str, name: str, ctx: Context[Any, Any]) -> str:
        with _told_errors():
            reply = await symbol(Call(repositories, ctx), SymbolArguments(name=name, repository=repository))
            return reply.rendered()[0]


def mapped(opened: Opened) -> str:
    """Return the map of a repository."""
    return repository_map(opened.engine.graph, opened.name, opened.cleaner())


def _outlined(opened: Opened, written: str) -> str:
    cleaner, path = opened.cleaner(), as_place(opened.repository.root, written)
    try:
        lines = outline_lines(opened.engine.graph, path, cleaner)
    except UnknownNameError as error:
        refuse_path(opened.engine, path, error)
    shown = f"# Outline of {cleaner.line(path)}\n\n" + "\n".join(lines)
    if len(shown) <= MOST_CHARACTERS:
        return shown
    return shown[: shown.rfind("\n", 0, MOST_CHARACTERS - 100)] + "\n(cut; coderag_explain has it by parts)"


def _pending(opened: Opened) -> str:
    if opened.indexing is None:
        return ""
    return f"{opened.name} is being indexed for the first time ({told(opened.indexing)}). Read this again in a moment."


def _known(one: "KnownRepository") -> dict[str, Any]:
    return {"name": one.name, "root": one.root, "used": one.used, "is_open": one.is_open, "is_indexed": one.is_indexed}


@contextmanager
def _told_errors() -> Iterator[None]:
    """Have errors of CodeRAG told as the SDK's resources are to tell them."""
    try:
        yield
    except InvalidQueryError as error:
        raise ResourceNotFoundError(told_error(error)) from error
    except CodeRAGError as error:
        raise ResourceError(told_error(error)) from error
