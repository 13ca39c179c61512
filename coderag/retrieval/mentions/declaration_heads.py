"""Lines of declarations that have their name."""

from collections.abc import Container, Sequence
from typing import Final

from coderag.codegraph.symbol_graph import GraphNode

_PRE_NAME_PREFIXES: Final = ("@", "#", "[", "//", "/*", "*", "--", '"""')
"""Beginnings of lines above a declaration's name: decorators, attributes, comments."""

_MAX_HEAD_LINES: Final = 20
"""Lines of a declaration that may contain its name, including decorators."""


def find_head_line(node: GraphNode, lines: Sequence[str], named_lines: Container[int]) -> int | None:
    """Return the line of a declaration's name; None if it is not visible.

    Args:
        node: The declaration.
        lines: Lines of its file.
        named_lines: Numbers of the lines with its name.
    """
    last = min(node.end_line, node.start_line + _MAX_HEAD_LINES - 1, len(lines))
    head = range(node.start_line, last + 1)
    return next(
        (line for line in head if line in named_lines and not lines[line - 1].lstrip().startswith(_PRE_NAME_PREFIXES)),
        None,
    )
