"""Entries of data, style sheets and builds: their extent, and the selection of entries worth a symbol.

In the grammars of YAML and TOML, an entry extends to the next one and includes the comment above that. The grammar of
Dockerfile has no stages, only the instructions that begin them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.declaration_records import Declaration
from coderag.ingestion.parsing.trees import trim_end

ENTRY_KINDS: Final = frozenset({"key", "resource", "rule", "section"})
"""Kinds of declarations in data, style sheets and builds, but not in programs."""

_MAX_KEYS = 500
"""A file with more keys is a table, whose keys are not worth a symbol."""


def settle_entries(
    declarations: Iterable[Declaration], root: Node, comments: Sequence[tuple[int, int]], data: bytes
) -> list[Declaration]:
    """End each entry with its own text, and drop keys that are data: those on one line, and of tables.

    Args:
        comments: Start and end of each comment of the file, in order.
    """
    entries = list(declarations)
    _extend_sections([entry for entry in entries if entry.kind == "section"], root)
    for entry in entries:
        if entry.kind in ENTRY_KINDS:
            entry.end = _find_own_end(entry, comments, data)
    keys = _drop_tables(
        [entry for entry in entries if entry.kind == "key" and data.find(b"\n", entry.start, entry.end) >= 0]
    )
    return [*(entry for entry in entries if entry.kind != "key"), *keys]


def _extend_sections(sections: Sequence[Declaration], root: Node) -> None:
    """Extend each section to the next one. The nodes that begin sections are children of the root."""
    if not sections:
        return
    by_start = {section.start: section for section in sections}
    for section in sections:
        section.body = section.body or (section.end, section.end)
    current: Declaration | None = None
    for child in root.children:
        current = by_start.get(child.start_byte, current)
        if current is not None:
            current.end = max(current.end, child.end_byte)


def _find_own_end(entry: Declaration, comments: Sequence[tuple[int, int]], data: bytes) -> int:
    """Return the end of an entry without trailing space and without the comments of the next entry.

    Comments indented deeper than the entry belong to it.
    """
    column = entry.start - data.rfind(b"\n", 0, entry.start)
    end = trim_end(data, entry.start, entry.end)
    index = bisect_left(comments, (end,)) - 1
    while index >= 0 and entry.start < comments[index][0] and trim_end(data, entry.start, comments[index][1]) == end:
        start = comments[index][0]
        line_break = data.rfind(b"\n", 0, start)
        if start - line_break > column or data[line_break + 1 : start].strip():
            break
        end = trim_end(data, entry.start, start)
        index -= 1
    return end


def _drop_tables(keys: Sequence[Declaration]) -> list[Declaration]:
    """Return the keys of the upper levels, down to the level that exceeds `_MAX_KEYS`."""
    levels: list[list[Declaration]] = []
    open_ends: list[int] = []
    for key in sorted(keys, key=lambda entry: (entry.start, -entry.end)):
        while open_ends and open_ends[-1] <= key.start:
            open_ends.pop()
        if len(open_ends) == len(levels):
            levels.append([])
        levels[len(open_ends)].append(key)
        open_ends.append(key.end)
    upper_keys: list[Declaration] = []
    for level in levels:
        if len(upper_keys) + len(level) > _MAX_KEYS:
            break
        upper_keys += level
    return upper_keys
