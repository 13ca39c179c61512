"""Differences to a git revision: changed lines and the declarations around them.

``git diff`` is not used: it would run filters named by the repository's configuration.
"""

import difflib
from bisect import bisect_left
from collections import Counter
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
_MAX_MATCHED_LINES: Final = 800  # between anchors; where more differ, all of them count as changed


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

    tree_entry = run_git(root, "--literal-pathspecs", "ls-tree", base, "--", path)
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
    for old, new in _find_differing_slices(old_lines, new_lines):
        edits: list[tuple[str, int, int]]
        if max(len(old), len(new)) > _MAX_MATCHED_LINES:
            edits = [("replace", 0, len(new))]
        else:
            matcher = difflib.SequenceMatcher(None, old_lines[old.start : old.stop], new_lines[new.start : new.stop])
            edits = [(kind, start, end) for kind, _, _, start, end in matcher.get_opcodes()]
        for kind, start, end in edits:
            if kind != "equal":
                first, last = new.start + start + 1, new.start + end
                yield (first, last) if last >= first else (max(1, last), max(1, last))


def _find_differing_slices(old_lines: list[str], new_lines: list[str]) -> Iterator[tuple[range, range]]:
    """Yield what differs between the unchanged lines that each text has only once, as a patience diff does.

    `difflib` alone takes cubic time where lines repeat in another order: hours for a file of a megabyte.
    """
    old_end, new_end = 0, 0
    for old_next, new_next in [*_find_anchors(old_lines, new_lines), (len(old_lines), len(new_lines))]:
        old_start, new_start, old_stop, new_stop = old_end, new_end, old_next, new_next
        while old_start < old_stop and new_start < new_stop and old_lines[old_start] == new_lines[new_start]:
            old_start, new_start = old_start + 1, new_start + 1
        while old_start < old_stop and new_start < new_stop and old_lines[old_stop - 1] == new_lines[new_stop - 1]:
            old_stop, new_stop = old_stop - 1, new_stop - 1
        if old_start < old_stop or new_start < new_stop:
            yield range(old_start, old_stop), range(new_start, new_stop)
        old_end, new_end = old_next + 1, new_next + 1


def _find_anchors(old_lines: list[str], new_lines: list[str]) -> list[tuple[int, int]]:
    """Return the longest increasing sequence of pairs of lines that occur once in each text."""
    old_counts, new_counts = Counter(old_lines), Counter(new_lines)
    old_positions = {line: position for position, line in enumerate(old_lines) if old_counts[line] == 1}
    ends: list[int] = []
    chains: list[tuple[int, int, int | None]] = []
    tails: list[int] = []
    for new, line in enumerate(new_lines):
        if new_counts[line] == 1 and (old := old_positions.get(line)) is not None:
            length = bisect_left(ends, old)
            ends[length : length + 1] = [old]
            tails[length : length + 1] = [len(chains)]
            chains.append((old, new, tails[length - 1] if length else None))
    anchors: list[tuple[int, int]] = []
    link = tails[-1] if tails else None
    while link is not None:
        old, new, link = chains[link]
        anchors.append((old, new))
    return anchors[::-1]


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
