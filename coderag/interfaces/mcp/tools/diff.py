"""``coderag_diff``: review of a change."""

from functools import partial

from coderag.interfaces.mcp.arguments import DiffArguments
from coderag.interfaces.mcp.change_parts import build_change_parts
from coderag.interfaces.mcp.progress import format_progress
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest

_MAX_TESTS = 15


async def run_diff(call: ToolRequest, arguments: DiffArguments) -> McpReply:
    """Return what a change touches: declarations, dependents, tests, documents, history."""
    handle = await call.open(arguments.repository)
    if handle.indexing_job is not None:
        state = format_progress(handle.indexing_job)
        return McpReply(
            facts={"repository": handle.name, "indexing": state},
            intro=[f"{handle.name} is being indexed for the first time ({state}). Ask again in a moment."],
        )
    return await call.run(partial(_review_change, handle, arguments))


def _review_change(handle: RepositoryHandle, arguments: DiffArguments) -> McpReply:
    from coderag.interfaces.change_report import format_title  # noqa: PLC0415  # only with the engine

    target = arguments.target
    review = handle.engine.review_change(
        target.revisions, staged=target.staged, patch=target.patch, max_tests=_MAX_TESTS
    )
    cleaner = handle.make_cleaner()
    notes = [] if review.files else ["Nothing differs. Next: other revisions, as main...HEAD."]
    return McpReply(
        facts={
            "repository": handle.name,
            "base": review.base,
            "target": review.target,
            "tests_selected": review.tests.n_selected,
            "declarations": [],
            "tests": [],
        },
        intro=[cleaner.clean_line(format_title(review))],
        parts=build_change_parts(review, cleaner),
        notes=notes,
        describe_next_call=lambda _: "the same call with more max_tokens, or coderag_symbol for one name.",
        max_tokens=arguments.max_tokens,
    )


DIFF = ToolDefinition(
    "coderag_diff",
    "Review a change",
    "Before you finish or review a change: what depends on it, which tests to run, documents that name it, its history.",
    DiffArguments,
    run_diff,
)
