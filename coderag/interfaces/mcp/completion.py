"""Completion of the arguments of resource templates and prompts: repositories, paths, names."""

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
from coderag.interfaces.mcp.paths import list_indexed_paths
from coderag.interfaces.mcp.repositories import Repositories

_MAX_VALUES: Final = 100  # by the protocol
_PATH_ARGUMENTS: Final = ("path", "file_path")


def add_completion(server: MCPServer[Any], repositories: Repositories) -> None:
    """Register the completion.

    Arguments without known values, such as paths of an unindexed repository, complete to nothing.
    """

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # untyped in mcp 2.3
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        del ref  # an argument has the same name in every template and prompt
        context_arguments = (context.arguments if context else None) or {}
        try:
            values = await _list_values(repositories, argument.name, context_arguments.get("repository", ""))
        except CodeRAGError:
            return None
        typed = argument.value.casefold()
        matches = sorted(
            (not value.casefold().startswith(typed), value) for value in values if typed in value.casefold()
        )
        return Completion(
            values=[value for _, value in matches[:_MAX_VALUES]],
            total=len(matches),
            has_more=len(matches) > _MAX_VALUES,
        )


async def _list_values(repositories: Repositories, argument: str, repository: str) -> set[str]:
    """List all values of an argument. Raises as `Repositories.open`."""
    if argument == "repository":
        workspace = await repositories.get_workspace()
        return {entry.name for entry in await repositories.run(workspace.list_repositories)}
    if argument not in (*_PATH_ARGUMENTS, "name"):
        return set()
    open_repository = await repositories.open(repository, None)
    if argument in _PATH_ARGUMENTS:
        return set(await repositories.run(lambda: list_indexed_paths(open_repository.engine.graph)))
    return set(await repositories.run(lambda: open_repository.engine.graph.symbols.names.unique().to_pylist()))
