"""A repository on a page: its folders, and the files and declarations that most depends on."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from coderag.interfaces.mcp.cleaning import Cleaner, span
from coderag.interfaces.mcp.missing import indexed_paths
from coderag.text.token_counts import count_tokens

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.schema.graph import Hotspot

MAP_TOKENS: Final = 4_000

_MOST_FILES = 60
_MOST_DECLARATIONS = 300
_A_FILE = 8  # declarations
_MOST_FOLDERS = 25


def repository_map(graph: "CodeGraph", name: str, cleaner: Cleaner, *, max_tokens: int = MAP_TOKENS) -> str:
    """Return the map of a repository as Markdown, the most used first, as long as it fits.

    Args:
        graph: Its code graph.
        name: What it is called.
        cleaner: Of the repository.
        max_tokens: Size of the text, at most.
    """
    lines = [f"# Map of {cleaner.line(name)}", "", "## Folders (indexed files)", *_folders(graph, cleaner), ""]
    lines.append("## Most used files, with their most used declarations")
    left = max_tokens - count_tokens("\n".join(lines)) - 40
    left_out = 0
    for line in _files(graph, cleaner):
        left -= count_tokens(line) + 1
        if left < 0:
            left_out += 1
        else:
            lines.append(line)
    if left_out:
        lines.append(f"{left_out} more files; coderag_explain has the outline of one.")
    return "\n".join(lines)


def _folders(graph: "CodeGraph", cleaner: Cleaner) -> Iterator[str]:
    counts = Counter("/".join(path.split("/")[:-1][:2]) or "." for path in indexed_paths(graph))
    for folder, count in counts.most_common(_MOST_FOLDERS):
        yield f"- {cleaner.line(folder)}: {count}"
    if more := len(counts) - _MOST_FOLDERS:
        yield from [f"- and {more} more"] if more > 0 else []


def _files(graph: "CodeGraph", cleaner: Cleaner) -> Iterator[str]:
    declared: dict[str, list[Hotspot]] = {}
    for one in graph.hotspots(_MOST_DECLARATIONS):
        declared.setdefault(one.path, []).append(one)
    for file in graph.hotspots(_MOST_FILES, "file"):
        names = ", ".join(_declaration(one, cleaner) for one in declared.get(file.path, ())[:_A_FILE])
        used = f" (used by {file.users})" if file.users else ""
        yield f"- {cleaner.line(file.path)}{used}{f': {names}' if names else ''}"


def _declaration(one: "Hotspot", cleaner: Cleaner) -> str:
    return f"{one.kind} {span(cleaner.line(one.qualified_name))} {one.start_line}-{one.end_line}"
