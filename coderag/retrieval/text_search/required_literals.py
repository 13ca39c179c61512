"""What every match of a regular expression has, so that most files and lines need not be tried.

Only what is certain is told: the pattern is read once from left to right, groups and classes are stepped over, and
anything out of the ordinary means that nothing is known.
"""

import re

_NON_LITERAL_ESCAPES = frozenset("wWdDsSbBAZnrtfv")
"""Escapes of one letter that stand for a class, a place or a control character."""

_HARMLESS_GROUP = re.compile(r"\((?!\?)|\(\?(?:[:=!>|]|<[=!]|P?<\w+>|P=|[msu]+[:)])")
_QUANTIFIER = re.compile(r"\{\d*(?:,\d*)?\}")
_BRACES = re.compile(r"\{[^{}]*\}")
_CLASS = re.compile(r"\[\^?\]?(?:[^]\\[]|\\.)*\]", re.DOTALL)


_MAY_LEAVE_LINE = re.compile(r"\\[^wdSbB\W]|\[\^|\(\?(?!:)|[\x00-\x1f]")
"""What may match the end of a line: escapes but a few, classes of what is not in them, flags; and what looks around."""


class _UncertainPatternError(Exception):
    """Nothing certain can be told of a pattern."""


def find_required_literals(pattern: str) -> list[str]:
    """Return texts of which every match contains at least one; empty if nothing is known.

    Args:
        pattern: A regular expression that compiles, in the syntax of `re` or `regex`, without flags that change it.
    """
    try:
        branches = _split_branches(pattern)
    except (_UncertainPatternError, IndexError):
        return []
    return branches if all(branches) else []


def matches_within_lines(pattern: str) -> bool:
    """Return whether a match can certainly hold no end of a line, nor depend on what is in other lines."""
    return not _MAY_LEAVE_LINE.search(pattern)


def _split_branches(pattern: str) -> list[str]:
    """Return for each alternative the longest text that it must contain."""
    branches: list[str] = []
    runs: list[str] = [""]
    position = 0
    while position < len(pattern):
        character = pattern[position]
        end = position + 1
        if character == "|":
            branches.append(max(runs, key=len))
            runs = [""]
        elif character == "\\":
            end, literal = _parse_escape(pattern, position)
            _extend_run(runs, literal)
        elif character == "[":
            end = _find_class_end(pattern, position)
            runs.append("")
        elif character == "(":
            end = _find_group_end(pattern, position)
            runs.append("")
        elif character in "*?":
            runs[-1] = runs[-1][:-1]
            runs.append("")
        elif character == "{" and (braces := _BRACES.match(pattern, position)):
            if not _QUANTIFIER.fullmatch(braces[0]):
                raise _UncertainPatternError
            runs[-1] = runs[-1][:-1]
            runs.append("")
            end = braces.end()
        else:
            _extend_run(runs, "" if character in "+.^$\r\n" else character)
        position = end
    return [*branches, max(runs, key=len)]


def _extend_run(runs: list[str], literal: str) -> None:
    """Add a character to the run that is being read, or end the run."""
    if literal:
        runs[-1] += literal
    else:
        runs.append("")


def _parse_escape(pattern: str, position: int) -> tuple[int, str]:
    """Return where an escape ends, and the character that it stands for, if it is one that is told by itself."""
    escaped = pattern[position + 1]
    if escaped in _NON_LITERAL_ESCAPES:
        return position + 2, ""
    if escaped.isalnum() or escaped.isspace():
        raise _UncertainPatternError
    return position + 2, escaped


def _find_class_end(pattern: str, position: int) -> int:
    match = _CLASS.match(pattern, position)
    if match is None:  # a class in a class
        raise _UncertainPatternError
    return match.end()


def _find_group_end(pattern: str, position: int) -> int:
    """Return where a group ends that may hold others."""
    depth = 0
    while True:
        character = pattern[position]
        if character == "(":
            if not _HARMLESS_GROUP.match(pattern, position):
                raise _UncertainPatternError
            depth += 1
        if character == ")":
            depth -= 1
            if depth == 0:
                return position + 1
        if character == "[":
            position = _find_class_end(pattern, position)
        else:
            position += 2 if character == "\\" else 1
