"""Differences to a git revision: changed lines and the declarations around them.

``git diff`` is not used: it would run filters named by the repository's configuration.
"""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.interfaces.mcp.paths import list_indexed_paths
from coderag.schema.graph import GraphDeclaration

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph

_MAX_FILE_BYTES: Final = 1_000_000  # bytes compared line by line
_MAX_FILES: Final = 200
_MAX_LINES_PER_CHANGE: Final = 400  # looked up per change


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """An indexed file that differs from a revision.

    Attributes:
        lines: Changed ranges in the current file, as first and last line; for a removal, the line before it.
        declarations: The innermost declarations around those lines.
        is_new: Whether the file is missing in the revision.
    """

    path: str
    lines: list[tuple[int, int]]
    declarations: list[GraphDeclaration]
    is_new: bool


def find_changed_files(root: Path, graph: "CodeGraph", base: str) -> list[ChangedFile]:
    """Find the indexed files that differ from a revision.

    Args:
        root: Folder of the repository.
        graph: The code graph of the files as they are now.
        base: Revision that names one commit.

    Raises:
        InvalidQueryError: The folder is in no git repository, or the commit is unknown.
    """
    from coderag.ingestion.files.revisions import find_changed_since  # noqa: PLC0415  # loads the engine

    changed_files = []
    for path in find_changed_since(root, base, list_indexed_paths(graph))[:_MAX_FILES]:
        old_lines, new_lines = _read_old_lines(root, base, path), _read_new_lines(root, path)
        lines = list(_find_changed_ranges(old_lines or [], new_lines))
        changed_files.append(
            ChangedFile(path, lines, list(_find_enclosing_declarations(graph, path, lines)), old_lines is None)
        )
    return changed_files


def _read_old_lines(root: Path, base: str, path: str) -> list[str] | None:
    """Read the lines of a file in a revision; None if the revision does not have it."""
    from coderag.ingestion.files.git_repository import run_git  # noqa: PLC0415  # as above

    tree_entry = run_git(root, "ls-tree", base, "--", path)
    if not tree_entry or b" blob " not in tree_entry:
        return None
    blob = run_git(root, "cat-file", "blob", tree_entry.split()[2].decode("ascii"))
    return _split_lines(blob or b"")


def _read_new_lines(root: Path, path: str) -> list[str]:
    from coderag.ingestion.files.regular_files import read_regular_file  # noqa: PLC0415  # as above

    try:
        data, _ = read_regular_file(root / path, _MAX_FILE_BYTES)
    except OSError:
        return []
    return _split_lines(data)


def _split_lines(data: bytes) -> list[str]:
    return data[:_MAX_FILE_BYTES].decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def _find_changed_ranges(old_lines: list[str], new_lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the changed ranges of the current lines, 1-based."""
    for kind, _, _, start, end in difflib.SequenceMatcher(None, old_lines, new_lines).get_opcodes():
        if kind != "equal":
            yield (start + 1, end) if end > start else (max(1, start), max(1, start))


def _find_enclosing_declarations(
    graph: "CodeGraph", path: str, ranges: Iterable[tuple[int, int]]
) -> Iterator[GraphDeclaration]:
    """Yield the innermost declarations around line ranges, each once."""
    seen = set[int]()
    for start, end in ranges:
        for line in range(start, min(end, start + _MAX_LINES_PER_CHANGE) + 1):
            symbol_id = graph.symbols.find_innermost(path, line)
            if symbol_id is not None and symbol_id not in seen:
                seen.add(symbol_id)
                yield graph.symbol_resolver.to_declaration(symbol_id)
