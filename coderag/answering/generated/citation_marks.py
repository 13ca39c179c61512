"""Citation marks of a reply: ``[1]``, ``[1, 2]``, ``[1-3]``, ``[1][2]``, ``【1】``."""

import re
from collections.abc import Sequence
from typing import Final

_NUMBER: Final = r"[#^]?\d{1,4}"
_NUMBER_LIST: Final = (
    r"[ \t]*(?:(?:evidence|source|sources|ref)[ \t]*)?"
    rf"{_NUMBER}(?:[ \t]*(?:[,;、，]|[-–—]|and|&)[ \t]*{_NUMBER})*[ \t]*"
)
CITATION_MARK: Final = re.compile(
    rf"(?:\[(?P<square>{_NUMBER_LIST})\]|【(?P<wide>{_NUMBER_LIST})(?:†[^】\n]*)?】|［(?P<full>{_NUMBER_LIST})］)"
    r"(?:\([^()\s]*\))?",
    re.IGNORECASE,
)
"""A citation mark, including a link after it."""

MARK_CLOSERS: Final = {"[": "]", "【": "】", "［": "］"}
"""Closing bracket of each opening one."""

_RANGE = re.compile(r"(\d+)[ \t]*[-–—][ \t]*[#^]?(\d+)|(\d+)")
_MAX_RANGE_LENGTH = 50


def find_cited_numbers(text: str) -> list[int]:
    """Find the distinct numbers that a text cites, in order; an invalid range counts as its two ends."""
    numbers: dict[int, None] = {}
    for mark in CITATION_MARK.finditer(text):
        numbers.update(dict.fromkeys(parse_mark(mark)))
    return list(numbers)


def parse_mark(mark: re.Match[str]) -> Sequence[int]:
    """Parse the numbers of one mark."""
    numbers: list[int] = []
    for match in _RANGE.finditer(mark["square"] or mark["wide"] or mark["full"]):
        first, last = int(match[1] or match[3]), int(match[2] or match[3])
        numbers += range(first, last + 1) if first <= last < first + _MAX_RANGE_LENGTH else (first, last)
    return numbers
