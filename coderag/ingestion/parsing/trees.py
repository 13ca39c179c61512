"""Syntax trees: parsing with tree-sitter within limits, and tree traversal."""

import time
from collections.abc import Iterator
from functools import cache

import numpy as np
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Tree
from tree_sitter_language_pack import get_language

from coderag.ingestion.parsing.languages import Language
from coderag.ingestion.parsing.stage_clock import stages

_NEWLINE = 10
_READ_BYTES = 1 << 12


class SyntaxUnusableError(Exception):
    """The tree of a file is not usable; the message has the reason. Raised and handled inside ``ingestion``."""


@cache
def load_grammar(name: str) -> Grammar:
    """Load a grammar of the language pack by its name."""
    return get_language(name)  # type: ignore[arg-type]  # the pack types its names as a Literal


def find_line_starts(data: bytes) -> list[int]:
    r"""Return the byte offset of each line; only ``\n`` ends a line. The last entry is the length of the text."""
    ends: list[int] = (np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE) + 1).tolist()
    if not ends or ends[-1] < len(data):
        ends.append(len(data))
    return [0, *ends]


def parse(data: bytes, language: Language, *, timeout_s: float | None) -> Tree:
    """Parse a file.

    Args:
        language: A language with a grammar.
        timeout_s: CPU time allowed for each million bytes, or for all of a smaller file. A damaged file of a kilobyte can
            keep a parser busy forever (TSX), or make it allocate half a gigabyte of memory a second (Java). None in a
            process that may be killed (`coderag.ingestion.workers.worker`): checking the time costs a fifth of parsing.

    Raises:
        SyntaxUnusableError: Parsing took longer, or the grammar may crash and this process must not.
    """
    with stages.measure("parse"):
        return _parse_within_limits(data, language, timeout_s)


def _parse_within_limits(data: bytes, language: Language, timeout_s: float | None) -> Tree:
    if language.deepest and is_nested_deeper(data, language.deepest):
        raise SyntaxUnusableError(f"nested too deep for the grammar of {language.name}")
    parser = Parser(load_grammar(language.grammar))
    if timeout_s is None:
        return parser.parse(data)
    if language.crashes:
        raise SyntaxUnusableError(f"the grammar of {language.name} is used in worker processes only")
    deadline = time.thread_time() + timeout_s * max(1.0, len(data) / 1_000_000)
    try:
        return parser.parse(
            lambda offset, _: data[offset : offset + _READ_BYTES],
            progress_callback=lambda *_: time.thread_time() > deadline,
        )
    except ValueError as error:  # raised by tree_sitter when the callback cancels
        raise SyntaxUnusableError(f"not parsed within {timeout_s:g} s") from error


def is_nested_deeper(data: bytes, levels: int) -> bool:
    """Return whether blocks may nest more than ``levels`` deep, judging by lines without a parser.

    The depth is at most the number of columns of the longest indentation; ``- `` and ``? `` open further levels within a line.
    """
    half = levels // 2
    return any(
        len(line) - len(line.lstrip()) >= half or line.count(b"- ") + line.count(b"? ") >= half
        for line in data.split(b"\n")
        if len(line) >= half
    )


def trim_end(data: bytes, start: int, end: int) -> int:
    """Return the end of a node without trailing space, which some grammars include."""
    while end > start and data[end - 1] in b" \t\r\n":
        end -= 1
    return end


def walk_children(node: Node, start: int, end: int, size: int) -> Iterator[tuple[int, Node]]:
    """Yield the nodes that cover a range of bytes, split until each has at most ``size`` bytes or no children.

    Yields:
        The offset of the node (at least ``start``), and the node, in order of position.
    """
    stack = [node]
    while stack:
        inner = stack.pop()
        first, last = inner.start_byte, inner.end_byte
        if last <= start or first >= end:
            continue
        if min(last, end) - max(first, start) > size and inner.child_count:
            stack += reversed(inner.children)
        else:
            yield max(first, start), inner
