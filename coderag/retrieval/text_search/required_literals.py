"""Literals that every match of a regular expression contains, to skip files and lines.

The analysis is conservative: it reads the pattern once from left to right, skips groups and classes, and gives up on
unusual syntax.
"""

import re

_NON_LITERAL_ESCAPES = frozenset("wWdDsSbBAZnrtfv")
"""One-letter escapes that stand for a class, a position or a control character."""

_HARMLESS_GROUP = re.compile(r"\((?!\?)|\(\?(?:[:=!>|]|<[=!]|P?<\w+>|P=|[msu]+[:)])")
_QUANTIFIER = re.compile(r"\{\d*(?:,\d*)?\}")
_BRACES = re.compile(r"\{[^{}]*\}")
_CLASS = re.compile(r"\[\^?\]?(?:[^]\\[]|\\.)*\]", re.DOTALL)


_MAY_LEAVE_LINE = re.compile(r"\\[^wdSbB\W]|\[\^|\(\?(?!:)|[\x00-\x1f]")
"""Syntax that may match a line end or look around: most escapes, negated classes, flags, assertions."""


class _UncertainPatternError(Exception):
    """The pattern cannot be analyzed."""


def find_required_literals(pattern: str) -> list[str]:
    """Find texts of which every match contains at least one; empty if unknown.

    Args:
        pattern: A valid regular expression in the syntax of `re` or `regex`, without flags that change it.
    """
    try:
        branches = _split_branches(pattern)
    except (_UncertainPatternError, IndexError):
        return []
    return branches if all(branches) else []


def matches_within_lines(pattern: str) -> bool:
    """Return whether a match can neither contain a line end nor depend on other lines."""
    return not _MAY_LEAVE_LINE.search(pattern)


def _split_branches(pattern: str) -> list[str]:
    """Return the longest required text of each alternative."""
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
    """Append a character to the current run, or end the run."""
    if literal:
        runs[-1] += literal
    else:
        runs.append("")


def _parse_escape(pattern: str, position: int) -> tuple[int, str]:
    """Return the end of an escape and the literal character that it stands for, if any."""
    escaped = pattern[position + 1]
    if escaped in _NON_LITERAL_ESCAPES:
        return position + 2, ""
    if escaped.isalnum() or escaped.isspace():
        raise _UncertainPatternError
    return position + 2, escaped


def _find_class_end(pattern: str, position: int) -> int:
    match = _CLASS.match(pattern, position)
    if match is None:  # nested classes
        raise _UncertainPatternError
    return match.end()


def _find_group_end(pattern: str, position: int) -> int:
    """Find the end of a group with nested groups."""
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
