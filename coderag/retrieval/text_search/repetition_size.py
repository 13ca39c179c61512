"""Size to which the repetitions of a regular expression unroll when it is compiled."""

import re
from typing import Final

MAX_COUNT: Final = 10**9
"""Count at which `count_repeated_items` saturates."""

_GROUP_START: Final = re.compile(r"\((?!\?)|\(\?(?:[:=!>|]|<[=!]|P?<\w+>|P=|[aiLmsu]+[:)])")
_CLASS: Final = re.compile(r"\[\^?\]?(?:[^]\\[]|\\.)*\]", re.DOTALL)
_REPEAT: Final = re.compile(r"\{([0-9]*)(?:(,)([0-9]*))?\}|\+")
_SPACED_REPEAT: Final = re.compile(r"\{\s*([0-9]*)\s*(?:(,)\s*([0-9]*)\s*)?\}|\+")


class _UncertainPatternError(Exception):
    """The groups of the pattern cannot be told."""


def count_repeated_items(pattern: str) -> int:
    r"""Count the items that repetitions add to a pattern, at most `MAX_COUNT`.

    `regex` copies the body of a repetition as often as it must match, and once more for the rest, at each level: it needs
    a gigabyte for ``.{3000000}``, and hours for ``(){50000}``, without a time limit. The count is an upper bound.

    Args:
        pattern: A regular expression in the syntax of `re` or `regex`.
    """
    try:
        return _count(pattern)
    except _UncertainPatternError:  # unusual syntax, such as comments and nested classes: each may be within each
        count = len(pattern)
        for match in _SPACED_REPEAT.finditer(pattern):
            count = min(count * _count_copies(match), MAX_COUNT)
        return count - len(pattern)


def _count(pattern: str) -> int:
    groups = [[0, 0]]  # of each open group: items before the last one, and of the last one
    plain = position = 0
    while position < len(pattern):
        character = pattern[position]
        last = groups[-1]
        end = position + 1
        if (match := _REPEAT.match(pattern, position)) is not None:
            last[1] = min(last[1] * _count_copies(match), MAX_COUNT)
            end = match.end()
        elif character == "(":
            end = _match(_GROUP_START, pattern, position)
            if pattern[end - 1] != ")":  # else flags
                groups.append([0, 0])
        elif character == ")":
            if len(groups) == 1:
                raise _UncertainPatternError
            items = sum(groups.pop()) + 1  # an empty group is a node, too
            _add_item(groups[-1], items)
            plain += 1
        else:
            end = _match(_CLASS, pattern, position) if character == "[" else end + (character == "\\")
            _add_item(last, 1)
            plain += 1
        position = end
    return sum(map(sum, groups)) - plain


def _add_item(group: list[int], items: int) -> None:
    group[:] = min(sum(group), MAX_COUNT), items


def _match(token: re.Pattern[str], pattern: str, position: int) -> int:
    """Return the end of a token."""
    match = token.match(pattern, position)
    if match is None:
        raise _UncertainPatternError
    return match.end()


def _count_copies(repeat: re.Match[str]) -> int:
    """Return the copies of a body: those that must match, and one for the rest, which may have any number."""
    if repeat[0] == "+":
        return 2
    least = int((repeat[1] or "0")[:10])
    has_rest = repeat[2] is not None and repeat[3].lstrip("0") != repeat[1].lstrip("0")
    return least + has_rest if least else 1
