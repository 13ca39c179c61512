"""Facts for the prompts that start from a diff or a stack trace."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from coderag.interfaces.mcp.cleaner import Cleaner, fence_code
from coderag.interfaces.mcp.diffs import ChangedFile, find_changed_files
from coderag.interfaces.mcp.paths import list_indexed_paths
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.schema.chunks import format_location
from coderag.schema.graph import GraphNeighbour
from coderag.text.code_fences import format_code_span

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.schema.graph import GraphDeclaration

_MAX_DECLARATIONS: Final = 30
_MAX_NEIGHBOURS: Final = 8
_MAX_TRACE_LINES: Final = 60
_FILE_KIND: Final = "file"


def describe_diff(handle: RepositoryHandle, base: str) -> str:
    """Describe the changes since a revision and their dependents.

    Raises:
        InvalidQueryError: The folder is in no git repository, or the commit is unknown.
    """
    cleaner, graph = handle.make_cleaner(), handle.engine.graph
    changed_files = find_changed_files(handle.repository.root, graph, base)
    if not changed_files:
        return f"No indexed file of {handle.name} differs from {cleaner.clean_line(base)}."
    lines = [f"{len(changed_files)} indexed files differ from {cleaner.clean_line(base)}:"]
    lines += [_format_changed_file(file, cleaner) for file in changed_files]
    declarations = [
        declaration for file in changed_files for declaration in file.declarations if declaration.kind != _FILE_KIND
    ]
    for declaration in declarations[:_MAX_DECLARATIONS]:
        lines += ["", *_format_dependents(graph, declaration, cleaner)]
    if remaining := len(declarations) - _MAX_DECLARATIONS:
        lines += (
            [f"\nand {remaining} more changed declarations; coderag_symbol has the impact of each"]
            if remaining > 0
            else []
        )
    return "\n".join(lines)


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


def _format_changed_file(file: ChangedFile, cleaner: Cleaner) -> str:
    ranges = ", ".join(f"{start}-{end}" if start != end else f"{start}" for start, end in file.lines[:12])
    more = f" and {len(file.lines) - 12} more" if len(file.lines) > 12 else ""
    names = ", ".join(
        format_code_span(cleaner.clean_line(declaration.qualified_name))
        for declaration in file.declarations[:8]
        if declaration.kind != _FILE_KIND
    )
    change = "new file" if file.is_new else f"lines {ranges}{more}"
    return f"- {cleaner.clean_line(file.path)}: {change}{f', in {names}' if names else ''}"


def _format_dependents(graph: "CodeGraph", declaration: "GraphDeclaration", cleaner: Cleaner) -> Iterator[str]:
    """Yield the users, implementations and tests of a changed declaration."""
    place = format_location(declaration.path, declaration.start_line, declaration.end_line)
    name = format_code_span(cleaner.clean_line(declaration.qualified_name))
    yield f"## {declaration.kind} {name} — {cleaner.clean_line(place)}"
    permissive_graph = graph.permissive
    yield _format_neighbours("used by", permissive_graph.users(declaration.name), cleaner)
    yield _format_neighbours(
        "overridden or implemented by", permissive_graph.implementations(declaration.name), cleaner
    )
    yield _format_neighbours("tested by", permissive_graph.tests(declaration.name), cleaner)


def _format_neighbours(title: str, neighbours: Iterable[GraphNeighbour], cleaner: Cleaner) -> str:
    neighbour_list = list(neighbours)
    entries = [
        f"{format_code_span(cleaner.clean_line(neighbour.qualified_name))} ({neighbour.evidence}:{neighbour.line})"
        for neighbour in neighbour_list[:_MAX_NEIGHBOURS]
    ]
    remaining = len(neighbour_list) - len(entries)
    return f"{title}: {', '.join(entries) or 'nothing known'}{f' and {remaining} more' if remaining else ''}"


def _match_path(trace_path: str, paths: Iterable[str]) -> str:
    """Return the indexed file that a path in a trace refers to: the longest with a matching suffix."""
    anchored = f"/{trace_path}"
    return max(
        (path for path in paths if anchored.endswith(f"/{path}") or path.endswith(anchored)), key=len, default=""
    )


def _find_enclosing_declaration(graph: "CodeGraph", path: str, line: int) -> "GraphDeclaration | None":
    symbol_id = graph.symbols.find_innermost(path, line)
    return None if symbol_id is None else graph.symbol_resolver.to_declaration(symbol_id)
