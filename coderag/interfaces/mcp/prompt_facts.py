"""The facts of the prompts that begin with a diff or with a trace."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from coderag.interfaces.mcp.cleaning import Cleaner, fenced, span
from coderag.interfaces.mcp.diffs import ChangedFile, changed_files
from coderag.interfaces.mcp.missing import indexed_paths
from coderag.interfaces.mcp.repositories import Opened
from coderag.schema.chunks import location_of
from coderag.schema.graph import GraphNeighbour

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.schema.graph import GraphDeclaration

_MOST_DECLARATIONS: Final = 30
_MOST_NEIGHBOURS: Final = 8
_MOST_TRACE_LINES: Final = 60
_FILE: Final = "file"


def diff_facts(opened: Opened, base: str) -> str:
    """Return what has changed since a revision, and what depends on it.

    Raises:
        InvalidQueryError: It is in no git repository, or git knows no such commit.
    """
    cleaner, graph = opened.cleaner(), opened.engine.graph
    changed = changed_files(opened.repository.root, graph, base)
    if not changed:
        return f"No indexed file of {opened.name} differs from {cleaner.line(base)}."
    lines = [f"{len(changed)} indexed files differ from {cleaner.line(base)}:"]
    lines += [_changed(file, cleaner) for file in changed]
    declared = [one for file in changed for one in file.declarations if one.kind != _FILE]
    for one in declared[:_MOST_DECLARATIONS]:
        lines += ["", *_dependents(graph, one, cleaner)]
    if more := len(declared) - _MOST_DECLARATIONS:
        lines += [f"\nand {more} more changed declarations; coderag_symbol has the impact of each"] if more > 0 else []
    return "\n".join(lines)


def trace_facts(opened: Opened, report: str) -> str:
    """Return the calls of a trace that are in this repository, innermost first, and the trace itself."""
    from coderag.question.stack_traces import read_traces  # noqa: PLC0415  # the engine is loaded on first use

    cleaner, graph = opened.cleaner(), opened.engine.graph
    lines = report.splitlines()
    paths = indexed_paths(graph)
    told = [
        f"- {cleaner.line(place)}: {one.kind} {span(cleaner.line(one.name))}"
        for frame in read_traces(lines).frames
        if (path := _path_in(frame.path, paths)) and (one := _around(graph, path, frame.line))
        for place in [f"{path}:{frame.line}"]
    ]
    trace = fenced(cleaner.code("\n".join(lines[-_MOST_TRACE_LINES:])))
    calls = told or ["none: the trace names no file of this repository"]
    return "\n".join(["The report:", trace, "", "Calls in this repository, innermost first:", *calls])


def _changed(file: ChangedFile, cleaner: Cleaner) -> str:
    ranges = ", ".join(f"{start}-{end}" if start != end else f"{start}" for start, end in file.lines[:12])
    more = f" and {len(file.lines) - 12} more" if len(file.lines) > 12 else ""
    names = ", ".join(span(cleaner.line(one.qualified_name)) for one in file.declarations[:8] if one.kind != _FILE)
    what = "new file" if file.is_new else f"lines {ranges}{more}"
    return f"- {cleaner.line(file.path)}: {what}{f', in {names}' if names else ''}"


def _dependents(graph: "CodeGraph", one: "GraphDeclaration", cleaner: Cleaner) -> Iterator[str]:
    """Yield who calls and who tests a changed declaration."""
    place = location_of(one.path, one.start_line, one.end_line)
    yield f"## {one.kind} {span(cleaner.line(one.qualified_name))} — {cleaner.line(place)}"
    known = graph.permissive
    yield _listed("used by", known.users(one.name), cleaner)
    yield _listed("overridden or implemented by", known.implementations(one.name), cleaner)
    yield _listed("tested by", known.tests(one.name), cleaner)


def _listed(title: str, found: Iterable[GraphNeighbour], cleaner: Cleaner) -> str:
    known = list(found)
    told = [f"{span(cleaner.line(one.qualified_name))} ({one.evidence}:{one.line})" for one in known[:_MOST_NEIGHBOURS]]
    more = len(known) - len(told)
    return f"{title}: {', '.join(told) or 'nothing known'}{f' and {more} more' if more else ''}"


def _path_in(written: str, paths: Iterable[str]) -> str:
    """Return the indexed file that a trace means: of those that end as it is written, the longest."""
    whole = f"/{written}"
    return max((path for path in paths if whole.endswith(f"/{path}") or path.endswith(whole)), key=len, default="")


def _around(graph: "CodeGraph", path: str, line: int) -> "GraphDeclaration | None":
    node = graph.symbols.find_innermost(path, line)
    return None if node is None else graph.symbol_resolver.to_declaration(node)
