"""The marks by which a reply cites numbered evidence: ``[1]``, ``[1, 2]``, ``[1-3]``, ``[1][2]``, ``【1】``."""

import re
from collections.abc import Sequence
from typing import Final

_NUMBER: Final = r"[#^]?\d{1,4}"
_NUMBERS: Final = (
    r"[ \t]*(?:(?:evidence|source|sources|ref)[ \t]*)?"
    rf"{_NUMBER}(?:[ \t]*(?:[,;、，]|[-–—]|and|&)[ \t]*{_NUMBER})*[ \t]*"
)
MARK: Final = re.compile(
    rf"(?:\[(?P<square>{_NUMBERS})\]|【(?P<wide>{_NUMBERS})(?:†[^】\n]*)?】|［(?P<full>{_NUMBERS})］)"
    r"(?:\([^()\s]*\))?",
    re.IGNORECASE,
)
"""A citation; a link behind it is part of it."""

OPENERS: Final = {"[": "]", "【": "】", "［": "］"}
"""What a citation may begin with, and how it then ends."""

_RANGE = re.compile(r"(\d+)[ \t]*[-–—][ \t]*[#^]?(\d+)|(\d+)")
_LONGEST_RANGE = 50


def cited_numbers(text: str) -> list[int]:
    """Return the numbers that the marks in a text cite, in order, each once; a range that is none is its two ends."""
    found: dict[int, None] = {}
    for mark in MARK.finditer(text):
        found.update(dict.fromkeys(numbers_in(mark)))
    return list(found)


def numbers_in(mark: re.Match[str]) -> Sequence[int]:
    """Return the numbers of one mark."""
    found: list[int] = []
    for match in _RANGE.finditer(mark["square"] or mark["wide"] or mark["full"]):
        first, last = int(match[1] or match[3]), int(match[2] or match[3])
        found += range(first, last + 1) if first <= last < first + _LONGEST_RANGE else (first, last)
    return found
