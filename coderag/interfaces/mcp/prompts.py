"""MCP prompts: tasks for a model with the facts that they need."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from coderag.errors import CodeRAGError
from coderag.interfaces.mcp.arguments import ContextArguments, DocsArguments, ExplainArguments
from coderag.interfaces.mcp.errors import format_error, format_invalid_arguments
from coderag.interfaces.mcp.progress import format_progress
from coderag.interfaces.mcp.prompt_facts import describe_diff, describe_trace
from coderag.interfaces.mcp.replies import DATA_NOTE, MAX_REPLY_CHARS
from coderag.interfaces.mcp.repositories import Repositories
from coderag.interfaces.mcp.resources import build_map
from coderag.interfaces.mcp.tool import ToolRequest
from coderag.interfaces.mcp.tools.context import run_context
from coderag.interfaces.mcp.tools.docs import run_docs
from coderag.interfaces.mcp.tools.explain import run_explain

if TYPE_CHECKING:
    from coderag.workspace.jobs import JobView

_FRESHNESS_S = 5.0
_OVERVIEW_QUERY = "overview, purpose, architecture, getting started, how to build and test"


def add_prompts(server: MCPServer[Any], repositories: Repositories) -> None:
    """Register the prompts."""

    @server.prompt(title="Explain this module", description="What a file is for, how it works, how it fits in.")
    async def explain_module(path: str, ctx: Context[Any, Any], repository: str = "") -> str:
        with _translate_errors("explain_module"):
            call = ToolRequest(repositories, ctx)
            about = ExplainArguments(file_path=path, detail_level="detailed", max_tokens=3_000, repository=repository)
            code = ContextArguments(file_path=path, include_tests=True, max_tokens=4_000, repository=repository)
            facts = [(await run_explain(call, about)).render()[0], (await run_context(call, code)).render()[0]]
            return _build_message(
                f"Explain `{path}` to a developer who is new to it: what it is for, its parts, how they work together, who "
                "uses it, what to watch when changing it. Cite path:lines for each statement.",
                *facts,
            )

    @server.prompt(
        title="Impact of my diff",
        description="What the changes since a revision (default HEAD) may break: callers and tests of what they touch.",
    )
    async def impact_of_my_diff(ctx: Context[Any, Any], base: str = "HEAD", repository: str = "") -> str:
        with _translate_errors("impact_of_my_diff"):
            call = ToolRequest(repositories, ctx)
            handle = await call.open(repository)
            if handle.indexing_job is not None:
                return _format_not_indexed(handle.name, handle.indexing_job)
            await call.refresh(handle, _FRESHNESS_S)
            facts = await call.run(partial(describe_diff, handle, base))
            return _build_message(
                f"Review the changes since {base}. Say what they may break and why, which callers have to change, and which "
                "tests to run or to write. Cite path:lines for each statement.",
                facts,
            )

    @server.prompt(
        title="Onboard me", description="A tour of the project: purpose, structure, entry points, conventions."
    )
    async def onboard_me(ctx: Context[Any, Any], repository: str = "") -> str:
        with _translate_errors("onboard_me"):
            call = ToolRequest(repositories, ctx)
            handle = await call.open(repository)
            if handle.indexing_job is not None:
                return _format_not_indexed(handle.name, handle.indexing_job)
            documents = await run_docs(
                call, DocsArguments(query=_OVERVIEW_QUERY, max_tokens=2_500, repository=repository)
            )
            return _build_message(
                "Introduce me to this project: what it is for, its main parts and how they depend on one another, where to "
                "start reading, how to build and test it. Cite paths. Look up with the coderag tools what is not said here.",
                await call.run(partial(build_map, handle)),
                documents.render()[0],
            )

    @server.prompt(title="Find the bug", description="From a traceback or error report: where it comes from, and why.")
    async def find_the_bug(traceback: str, ctx: Context[Any, Any], repository: str = "") -> str:
        with _translate_errors("find_the_bug"):
            call = ToolRequest(repositories, ctx)
            code = ContextArguments(query=traceback, include_tests=True, max_tokens=5_000, repository=repository)
            evidence = (await run_context(call, code)).render()[0]
            handle = await call.open(repository)
            frames = "" if handle.indexing_job else await call.run(partial(describe_trace, handle, traceback))
            return _build_message(
                "Find the cause of this error. Follow the trace from the innermost call of this project outwards, say which "
                "line is wrong and why, and propose the smallest fix. Cite path:lines for each statement.",
                frames,
                evidence,
            )


def _format_not_indexed(name: str, job: "JobView") -> str:
    return f"{name} is not indexed yet ({format_progress(job)}). Ask for this prompt again in a moment."


def _build_message(task: str, *facts: str) -> str:
    """Join a task and its facts, truncated to the size of a reply."""
    text = "\n\n".join([task, f"Facts from the index of CodeRAG. {DATA_NOTE}", *filter(None, facts)])
    if len(text) <= MAX_REPLY_CHARS:
        return text
    return f"{text[: text.rfind(chr(10), 0, MAX_REPLY_CHARS - 100)]}\n(cut; the coderag tools have the rest)"


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Translate errors into invalid-params errors of MCP."""
    try:
        yield
    except ValidationError as error:
        raise MCPError(INVALID_PARAMS, format_invalid_arguments(name, error)) from error
    except CodeRAGError as error:
        raise MCPError(INVALID_PARAMS, format_error(error)) from error
