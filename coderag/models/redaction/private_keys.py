"""Line ranges of private keys in texts, including keys that are cut off."""

import re
from collections.abc import Iterator, Sequence

_NAME = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?"
_BEGIN = re.compile(rf"BEGIN {_NAME}")
_END = re.compile(rf"END {_NAME}")
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d")
_PUTTY_END = re.compile(r"Private-(?:MAC|Hash): ?[0-9a-fA-F]+")

_SURROUNDING_CHARS = " \t\r\"'`,;+\\#*/>|()."
"""Characters around a key's line in code: quotes, operators, comment markers."""

_HEADER = re.compile(r"[A-Z][\w-]*: .*|")
_RUN = re.compile(r"[A-Za-z0-9+/]{16,}")
_SHORT = re.compile(r"=?[A-Za-z0-9+/]{1,64}={0,3}(?:\\[nr])*")
_MAX_KEY_LINES = 400  # RSA with 16,384 bits has 200

INLINE_KEY = re.compile(
    rf"-{{4,5}} ?BEGIN {_NAME} ?-{{4,5}}(?:(?!BEGIN ).){{20,20000}}?-{{4,5}} ?END {_NAME} ?-{{4,5}}"
)
"""A key in one line, with line ends written as ``\\n``."""


def find_key_lines(lines: Sequence[str]) -> Iterator[range]:
    """Yield the line range of each multi-line private key, in order.

    A key that begins or ends outside of the text counts, too. The words ``BEGIN PRIVATE KEY`` without a key do not.
    """
    next_free = 0
    for number, line in enumerate(lines):
        if number < next_free:
            continue
        key_range = range(0)
        if _BEGIN.search(line):
            key_range = _find_key_from_begin(lines, number)
        elif _END.search(line):
            key_range = _find_key_to_end(lines, number, next_free)
        elif _PUTTY.search(line):
            key_range = _find_until(lines, number, _PUTTY_END) or range(number, len(lines))
        if key_range:
            yield key_range
            next_free = key_range.stop


def _find_key_from_begin(lines: Sequence[str], begin: int) -> range:
    """Return the lines of the key that begins in a line; empty if there is no key."""
    first = begin + 1
    while first < len(lines) and _HEADER.fullmatch(lines[first].strip(_SURROUNDING_CHARS)):
        first += 1
    if first == len(lines) or not _is_data(lines[first]):
        return range(0)
    if complete_range := _find_until(lines, begin, _END):
        return complete_range
    last = first
    while last + 1 < len(lines) and _is_data(lines[last + 1]):
        last += 1
    if last + 1 < len(lines) and _SHORT.fullmatch(lines[last + 1].strip(_SURROUNDING_CHARS)):
        last += 1
    return range(begin, last + 1)


def _find_key_to_end(lines: Sequence[str], end: int, free: int) -> range:
    """Return the lines of the key that ends in a line and begins before the text; empty if there is no key."""
    first = end
    while first > free and (_is_data(lines[first - 1]) or _SHORT.fullmatch(lines[first - 1].strip(_SURROUNDING_CHARS))):
        first -= 1
    return range(first, end + 1) if any(_is_data(line) for line in lines[first:end]) else range(0)


def _find_until(lines: Sequence[str], first: int, end: re.Pattern[str]) -> range:
    """Return the lines up to the next match; empty if there is none nearby."""
    last = next((i for i in range(first, min(len(lines), first + _MAX_KEY_LINES)) if end.search(lines[i])), None)
    return range(0) if last is None else range(first, last + 1)


def _is_data(line: str) -> bool:
    """Return whether a line is key data: a run of base64 and hardly anything else."""
    run = _RUN.search(line)
    if run is None or len(line.strip(_SURROUNDING_CHARS)) - len(run[0]) > 16:
        return False
    return not (run[0].isalpha() or run[0].islower() or run[0].isupper())
