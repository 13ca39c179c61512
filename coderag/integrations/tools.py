"""Tools for agents of LangChain or LlamaIndex."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from coderag.errors import ConfigurationError
from coderag.integrations.agent_tools import AGENT_TOOLS, AgentTool
from coderag.integrations.repository import AgentRepository, RepositoryLike

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool
    from llama_index.core.tools import FunctionTool

Framework = Literal["langchain", "llama_index"]
ToolName = Literal["context", "search", "symbol", "read"]

_TOOL_MAKERS: Final = {
    "langchain": ("coderag.integrations.langchain.tools", "make_langchain_tool"),
    "llama_index": ("coderag.integrations.llama_index.tools", "make_llama_index_tool"),
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
    """Make a tool that queries a repository. The model sees text; the program also gets plain data.

    Args:
        repository: The repository, or the path of its folder.
        framework: LangChain (also for LangGraph) or LlamaIndex.
        tool: ``context``: code for a question within a token budget. ``search``: a list of places. ``symbol``: a
            declaration with its callers, callees and tests. ``read``: the lines of some places.
        index: Whether the first call updates the index; otherwise a missing index is an error.

    Raises:
        IngestionError: The folder cannot be indexed.
        ConfigurationError: Its settings are invalid, or the tool or framework is unknown.
    """
    if tool not in AGENT_TOOLS:
        raise ConfigurationError(f"unknown tool {tool!r}; known tools: {', '.join(AGENT_TOOLS)}")
    agent_tool: StructuredTool | FunctionTool = _load_maker(framework)(
        AgentRepository(repository, index=index), AGENT_TOOLS[tool]
    )
    return agent_tool


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
    """Make all tools of `as_tool` over one open repository. Arguments and errors are the same."""
    make, shared = _load_maker(framework), AgentRepository(repository, index=index)
    return [make(shared, tool) for tool in AGENT_TOOLS.values()]


def _load_maker(framework: Framework) -> Callable[[AgentRepository, AgentTool], Any]:
    if framework not in _TOOL_MAKERS:
        raise ConfigurationError(f"unknown framework {framework!r}; known frameworks: {', '.join(_TOOL_MAKERS)}")
    module, function = _TOOL_MAKERS[framework]
    maker: Callable[[AgentRepository, AgentTool], Any] = getattr(import_module(module), function)
    return maker
