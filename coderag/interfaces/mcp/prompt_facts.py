"""Facts for the prompts that start from a diff or a stack trace."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from coderag.interfaces.mcp.cleaner import fence_code
from coderag.interfaces.mcp.paths import list_indexed_paths
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.text.code_fences import format_code_span

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.schema.graph import GraphDeclaration

_MAX_TRACE_LINES: Final = 60


def describe_diff(handle: RepositoryHandle, base: str) -> str:
    """Describe the changes since a revision and their dependents.

    Raises:
        InvalidQueryError: The folder is in no git repository, or the commit is unknown.
    """
    from coderag.interfaces.change_report import format_title  # noqa: PLC0415  # only with the engine
    from coderag.interfaces.mcp.change_parts import format_change  # noqa: PLC0415

    cleaner, review = handle.make_cleaner(), handle.engine.review_change(base)
    if not review.files:
        return f"No file of {handle.name} differs from {cleaner.clean_line(base)}."
    return "\n".join([f"Since {cleaner.clean_line(base)}, {format_title(review)}.", *format_change(review, cleaner)])


def describe_trace(handle: RepositoryHandle, report: str) -> str:
    """Describe the calls of a stack trace that are in this repository, innermost first, after the trace itself."""
    from coderag.question.stack_traces import read_traces  # noqa: PLC0415  # loads the engine

    cleaner, graph = handle.make_cleaner(), handle.engine.graph
    lines = report.splitlines()
    paths = list_indexed_paths(graph)
    call_lines = [
        f"- {cleaner.clean_line(place)}: {declaration.kind} {format_code_span(cleaner.clean_line(declaration.name))}"
        for frame in read_traces(lines).frames
        if (path := _match_path(frame.path, paths))
        and (declaration := _find_enclosing_declaration(graph, path, frame.line))
        for place in [f"{path}:{frame.line}"]
    ]
    trace = fence_code(cleaner.clean_code("\n".join(lines[-_MAX_TRACE_LINES:])))
    calls = call_lines or ["none: the trace names no file of this repository"]
    return "\n".join(["The report:", trace, "", "Calls in this repository, innermost first:", *calls])


def _match_path(trace_path: str, paths: Iterable[str]) -> str:
    """Return the indexed file that a path in a trace refers to: the longest with a matching suffix."""
    anchored = f"/{trace_path}"
    return max(
        (path for path in paths if anchored.endswith(f"/{path}") or path.endswith(anchored)), key=len, default=""
    )


def _find_enclosing_declaration(graph: "CodeGraph", path: str, line: int) -> "GraphDeclaration | None":
    symbol_id = graph.symbols.find_innermost(path, line)
    return None if symbol_id is None else graph.symbol_resolver.to_declaration(symbol_id)
