"""A source text under repair, with a masked view of the same length."""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

NESTED_ARGUMENTS: Final = rb"\((?>[^(){};]++|\((?>[^(){};]++|\((?>[^(){};]++|\([^(){};]*+\))*+\))*+\))*+\)"
"""Pattern of parentheses with at most three levels inside, matched without backtracking."""

WORD_BYTES: Final = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Bytes of identifiers."""

_BLANKS: Final = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_WINDOW_BYTES: Final = 256
_WINDOW_GROWTH: Final = 8
_SPACE: Final = b" \t\r\n"


Span = tuple[int, int]
"""Start and end of a range of bytes."""


def is_inside(offset: int, ranges: Sequence[Span]) -> bool:
    """Return whether an offset is inside one of several ordered, disjoint ranges."""
    index = bisect_right(ranges, (offset, sys.maxsize)) - 1
    return index >= 0 and offset < ranges[index][1]


def make_blank(data: bytes | bytearray) -> bytes:
    """Return spaces and the line breaks of a text, in the same number of bytes."""
    return bytes(data.translate(_BLANKS))


class RepairDraft:
    """A text under repair: what the parser will read, and a view in which only relevant code is visible.

    Attributes:
        code: The text to parse.
        view: The same text with comments, string contents and other irrelevant parts replaced by spaces.
    """

    def __init__(self, code: bytes, view: bytes) -> None:
        self.code = bytearray(code)
        self.view = bytearray(view)

    def erase(self, start: int, end: int) -> None:
        """Replace a range by spaces; line breaks stay."""
        self.code[start:end] = make_blank(self.code[start:end])
        self.view[start:end] = make_blank(self.view[start:end])

    def replace(self, start: int, end: int, text: bytes) -> None:
        """Replace a range by a text, padded with spaces.

        Raises:
            ValueError: The text is longer than the range, or the range has a line break.
        """
        if len(text) > end - start or b"\n" in self.code[start:end]:
            raise ValueError(f"{text!r} does not fit into the bytes {start} to {end}")
        self.code[start:end] = self.view[start:end] = text.ljust(end - start)

    def hide(self, ranges: Iterable[Span]) -> None:
        """Make ranges invisible, without a change of the code."""
        for start, end in ranges:
            self.view[start:end] = make_blank(self.view[start:end])

    def is_visible(self, offset: int) -> bool:
        """Return whether the byte at an offset is neither hidden nor erased."""
        return self.view[offset] != _SPACE[0]

    def is_in_word(self, offset: int) -> bool:
        """Return whether the byte before an offset belongs to a word."""
        return offset > 0 and self.view[offset - 1] in WORD_BYTES

    def find_previous(self, offset: int) -> int:
        """Return the offset of the last visible byte before an offset; -1 if there is none."""
        window = _WINDOW_BYTES
        while offset > 0:
            start = max(0, offset - window)
            text = self.view[start:offset].rstrip(_SPACE)
            if text:
                return start + len(text) - 1
            offset, window = start, window * _WINDOW_GROWTH
        return -1

    def find_next(self, offset: int) -> int:
        """Return the offset of the first visible byte from an offset on; the length of the text if there is none."""
        window = _WINDOW_BYTES
        while offset < len(self.view):
            text = self.view[offset : offset + window]
            stripped = text.lstrip(_SPACE)
            if stripped:
                return offset + len(text) - len(stripped)
            offset, window = offset + window, window * _WINDOW_GROWTH
        return len(self.view)

    def read_statement_head(self, offset: int, limit: int) -> bytes | None:
        """Return the visible text between the last ``;``, brace or label and an offset.

        Args:
            limit: Maximum number of bytes of a head.

        Returns:
            The text without space around it; None if it is longer than the limit.
        """
        window = _WINDOW_BYTES
        while True:
            start = max(0, offset - window)
            text = bytes(self.view[start:offset])
            boundary = _find_boundary(text)
            head = text[boundary + 1 :].strip()
            if len(head) > limit:
                return None
            if boundary >= 0 or start == 0:
                return head
            window *= _WINDOW_GROWTH


def _find_boundary(text: bytes) -> int:
    """Return the offset of the last ``;``, brace or single colon; -1 without one."""
    colon = text.rfind(b":")
    while colon > 0 and text[colon - 1 : colon] == b":":
        colon = text.rfind(b":", 0, colon - 1)
    return max(text.rfind(b";"), text.rfind(b"{"), text.rfind(b"}"), colon)
