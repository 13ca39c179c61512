"""Which lines differ from a revision of git, and which declarations they are in.

Git's own ``diff`` is not asked: it would run the filters that the repository's configuration names.
"""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.interfaces.mcp.missing import indexed_paths
from coderag.schema.graph import GraphDeclaration

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph

_LARGEST: Final = 1_000_000  # bytes of a file that is compared line by line
_MOST_FILES: Final = 200
_MOST_LINES: Final = 400  # of one change that are looked up


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """An indexed file that differs from a revision.

    Attributes:
        lines: The lines of today that differ, as first and last; where lines were removed, the one before.
        declarations: The innermost ones around those lines.
        is_new: Whether the revision does not have it.
    """

    path: str
    lines: list[tuple[int, int]]
    declarations: list[GraphDeclaration]
    is_new: bool


def changed_files(root: Path, graph: "CodeGraph", base: str) -> list[ChangedFile]:
    """Return the indexed files that differ from a revision.

    Args:
        root: Folder of the repository.
        graph: Its code graph, of the files as they are now.
        base: Names one commit.

    Raises:
        InvalidQueryError: It is in no git repository, or git knows no such commit.
    """
    from coderag.ingestion.files.revisions import changed_since  # noqa: PLC0415  # the engine is loaded on first use

    found = []
    for path in changed_since(root, base, indexed_paths(graph))[:_MOST_FILES]:
        before, now = _before(root, base, path), _now(root, path)
        lines = list(_differing(before or [], now))
        found.append(ChangedFile(path, lines, list(_around(graph, path, lines)), before is None))
    return found


def _before(root: Path, base: str, path: str) -> list[str] | None:
    """Return the lines of a file in a revision; None if it is not there."""
    from coderag.ingestion.files.git_repository import run_git  # noqa: PLC0415  # as above

    listed = run_git(root, "ls-tree", base, "--", path)
    if not listed or b" blob " not in listed:
        return None
    printed = run_git(root, "cat-file", "blob", listed.split()[2].decode("ascii"))
    return _lines(printed or b"")


def _now(root: Path, path: str) -> list[str]:
    from coderag.ingestion.files.source import read_regular  # noqa: PLC0415  # as above

    try:
        data, _ = read_regular(root / path, _LARGEST)
    except OSError:
        return []
    return _lines(data)


def _lines(data: bytes) -> list[str]:
    return data[:_LARGEST].decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def _differing(before: list[str], now: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of today's lines that differ, 1-based."""
    for kind, _, _, start, end in difflib.SequenceMatcher(None, before, now).get_opcodes():
        if kind != "equal":
            yield (start + 1, end) if end > start else (max(1, start), max(1, start))


def _around(graph: "CodeGraph", path: str, ranges: Iterable[tuple[int, int]]) -> Iterator[GraphDeclaration]:
    """Yield the innermost declarations around some lines, each once."""
    listed = set[int]()
    for start, end in ranges:
        for line in range(start, min(end, start + _MOST_LINES) + 1):
            node = graph.symbols.find_innermost(path, line)
            if node is not None and node not in listed:
                listed.add(node)
                yield graph.symbol_resolver.to_declaration(node)
