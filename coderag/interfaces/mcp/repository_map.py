"""Repository map: its folders, and the most used files and declarations."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.paths import list_indexed_paths
from coderag.text.code_fences import format_code_span
from coderag.text.token_counts import count_tokens

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.schema.graph import Hotspot

DEFAULT_MAP_TOKENS: Final = 4_000

_MAX_FILES = 60
_MAX_DECLARATIONS = 300
_MAX_DECLARATIONS_PER_FILE = 8  # declarations
_MAX_FOLDERS = 25


def build_repository_map(
    graph: "CodeGraph", name: str, cleaner: Cleaner, *, max_tokens: int = DEFAULT_MAP_TOKENS
) -> str:
    """Build the map of a repository as Markdown, most used files first, within a token budget.

    Args:
        graph: Its code graph.
        name: Name of the repository.
        cleaner: Sanitiser of the repository's texts.
        max_tokens: Maximum size of the text.
    """
    lines = [
        f"# Map of {cleaner.clean_line(name)}",
        "",
        "## Folders (indexed files)",
        *_format_folders(graph, cleaner),
        "",
    ]
    lines.append("## Most used files, with their most used declarations")
    tokens_left = max_tokens - count_tokens("\n".join(lines)) - 40
    omitted_count = 0
    for line in _format_files(graph, cleaner):
        tokens_left -= count_tokens(line) + 1
        if tokens_left < 0:
            omitted_count += 1
        else:
            lines.append(line)
    if omitted_count:
        lines.append(f"{omitted_count} more files; coderag_explain has the outline of one.")
    return "\n".join(lines)


def _format_folders(graph: "CodeGraph", cleaner: Cleaner) -> Iterator[str]:
    counts = Counter("/".join(path.split("/")[:-1][:2]) or "." for path in list_indexed_paths(graph))
    for folder, count in counts.most_common(_MAX_FOLDERS):
        yield f"- {cleaner.clean_line(folder)}: {count}"
    if remaining := len(counts) - _MAX_FOLDERS:
        yield from [f"- and {remaining} more"] if remaining > 0 else []


def _format_files(graph: "CodeGraph", cleaner: Cleaner) -> Iterator[str]:
    hotspots_by_path: dict[str, list[Hotspot]] = {}
    for hotspot in graph.hotspots(_MAX_DECLARATIONS):
        hotspots_by_path.setdefault(hotspot.path, []).append(hotspot)
    for file in graph.hotspots(_MAX_FILES, "file"):
        names = ", ".join(
            _format_declaration(hotspot, cleaner)
            for hotspot in hotspots_by_path.get(file.path, ())[:_MAX_DECLARATIONS_PER_FILE]
        )
        usage = f" (used by {file.users})" if file.users else ""
        yield f"- {cleaner.clean_line(file.path)}{usage}{f': {names}' if names else ''}"


def _format_declaration(hotspot: "Hotspot", cleaner: Cleaner) -> str:
    name = format_code_span(cleaner.clean_line(hotspot.qualified_name))
    return f"{hotspot.kind} {name} {hotspot.start_line}-{hotspot.end_line}"
