"""`as_tool` and `as_tools`: CodeRAG as tools that an agent's model calls, for LangChain or LlamaIndex."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from coderag.errors import ConfigurationError
from coderag.integrations.calls import CALLS, ToolCall
from coderag.integrations.repository import Repository, RepositoryLike

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool
    from llama_index.core.tools import FunctionTool

Framework = Literal["langchain", "llama_index"]
ToolName = Literal["context", "search", "symbol", "read"]

_MAKERS: Final = {
    "langchain": ("coderag.integrations.langchain.tools", "langchain_tool"),
    "llama_index": ("coderag.integrations.llama_index.tools", "llama_index_tool"),
}


@overload
def as_tool(
    repository: RepositoryLike,
    framework: Literal["langchain"] = "langchain",
    *,
    tool: ToolName = "context",
    index: bool = False,
) -> "StructuredTool": ...


@overload
def as_tool(
    repository: RepositoryLike, framework: Literal["llama_index"], *, tool: ToolName = "context", index: bool = False
) -> "FunctionTool": ...


def as_tool(
    repository: RepositoryLike, framework: Framework = "langchain", *, tool: ToolName = "context", index: bool = False
) -> "StructuredTool | FunctionTool":
    """Return a tool that asks a repository. The model sees text; the program also gets what it says as plain data.

    Args:
        repository: The repository, or the path of its folder.
        framework: Whose tool it is: LangChain's (also for LangGraph), or LlamaIndex's.
        tool: ``context``: the code for a question within a token budget. ``search``: a list of places. ``symbol``: a
            declaration with its callers, callees and tests. ``read``: the lines of some places.
        index: Whether the first call brings the index up to date; else a repository without an index is an error.

    Raises:
        IngestionError: The folder cannot be indexed.
        ConfigurationError: Its settings cannot be used, or there is no such tool or framework.
    """
    if tool not in CALLS:
        raise ConfigurationError(f"there is no tool {tool!r}; there are {', '.join(CALLS)}")
    made: StructuredTool | FunctionTool = _maker(framework)(Repository(repository, index=index), CALLS[tool])
    return made


@overload
def as_tools(
    repository: RepositoryLike, framework: Literal["langchain"] = "langchain", *, index: bool = False
) -> "list[StructuredTool]": ...


@overload
def as_tools(
    repository: RepositoryLike, framework: Literal["llama_index"], *, index: bool = False
) -> "list[FunctionTool]": ...


def as_tools(
    repository: RepositoryLike, framework: Framework = "langchain", *, index: bool = False
) -> "list[StructuredTool] | list[FunctionTool]":
    """Return all tools of `as_tool`, over one open repository. Arguments and errors are as there."""
    make, opened = _maker(framework), Repository(repository, index=index)
    return [make(opened, call) for call in CALLS.values()]


def _maker(framework: Framework) -> Callable[[Repository, ToolCall], Any]:
    if framework not in _MAKERS:
        raise ConfigurationError(f"there are no tools for {framework!r}; there are for {' and '.join(_MAKERS)}")
    module, function = _MAKERS[framework]
    made: Callable[[Repository, ToolCall], Any] = getattr(import_module(module), function)
    return made
