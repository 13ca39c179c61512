"""Completion of what templates of resources and prompts take: repositories, paths, names."""

from typing import Any, Final

from mcp.server import MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from coderag.errors import CodeRAGError
from coderag.interfaces.mcp.missing import indexed_paths
from coderag.interfaces.mcp.repositories import Repositories

_MOST: Final = 100  # by the protocol
_PATHS: Final = ("path", "file_path")


def add_completion(server: MCPServer[Any], repositories: Repositories) -> None:
    """Register the completion. What cannot be known, such as the paths of a repository without an index, is none."""

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # mcp 2.3 says no type
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        del ref  # an argument is called the same wherever it is
        given = (context.arguments if context else None) or {}
        try:
            values = await _values(repositories, argument.name, given.get("repository", ""))
        except CodeRAGError:
            return None
        begun = argument.value.casefold()
        found = sorted((not one.casefold().startswith(begun), one) for one in values if begun in one.casefold())
        return Completion(values=[one for _, one in found[:_MOST]], total=len(found), has_more=len(found) > _MOST)


async def _values(repositories: Repositories, argument: str, repository: str) -> set[str]:
    """Return all values that an argument may have. Raises as `Repositories.open`."""
    if argument == "repository":
        workspace = await repositories.workspace()
        return {one.name for one in await repositories.run(workspace.known)}
    if argument not in (*_PATHS, "name"):
        return set()
    opened = await repositories.open(repository, None)
    if argument in _PATHS:
        return set(await repositories.run(lambda: indexed_paths(opened.engine.graph)))
    return set(await repositories.run(lambda: opened.engine.graph.symbols.names.unique().to_pylist()))
