"""Text of a file by node, capture and offset."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from tree_sitter import Node

from coderag.ingestion.parsing.trees import find_line_starts

MAX_TYPE_CHARS = 200  # characters
_SEPARATOR = re.compile(r"::|\\")

Captures = dict[str, list[Node]]
"""Nodes of a match by capture name."""


class SourceText:
    """The text of a file.

    Args:
        data: Content of the file.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._starts = find_line_starts(data)
        self._line_count = len(self._starts) - 1

    def read_node(self, node: Node) -> str:
        """Return the text of a node. Slicing the bytes is twice as fast as the node's own text."""
        return str(self.data[node.start_byte : node.end_byte], "utf-8", "replace")

    def find_line(self, offset: int) -> int:
        """Return the line (1-based) of an offset."""
        return bisect_right(self._starts, offset, 0, self._line_count)

    def find_lines(self, offsets: Sequence[int]) -> list[int]:
        """Return the line (1-based) of each offset."""
        starts, last = self._starts, self._line_count
        return [bisect_right(starts, offset, 0, last) for offset in offsets]

    def read_unquoted(self, captures: Captures, name: str) -> str:
        """Return the text of a capture without surrounding quotes; empty if there is none."""
        return self.read_node(captures[name][0]).strip("\"'`<>") if name in captures else ""

    def read_type(self, node: Node) -> str:
        """Return a type as written, on one line without quotes; empty if it is too long."""
        text = " ".join(self.read_node(node).lstrip(":").split()).strip("\"'")
        return text if len(text) <= MAX_TYPE_CHARS else ""


def join_name_parts(name: str) -> str:
    """Return a qualified name with dots as separators.

    In PHP a leading backslash is the global namespace, and becomes the first part of the name.
    """
    return f"\\.{_SEPARATOR.sub('.', name[1:])}" if name.startswith("\\") else _SEPARATOR.sub(".", name)
