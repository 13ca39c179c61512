"""What a line of Markdown begins, told from as little of it as that takes."""

import re
from typing import Final, Literal

LineKind = Literal["blank", "prose", "list", "heading", "table", "fence", "rule", "indented", "unknown"]
"""``indented`` is code by its indentation; ``unknown`` needs more of the line."""

PREFIX: Final = re.compile(r"(?:[ \t]*>)*[ \t]*")
"""Indentation and marks of quotation."""

LIST_MARKER: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
FENCE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*([^\n]*)")
DELIMITER: Final = re.compile(r"[ \t>]*+[ \t:|]*+-[ \t:|-]*+")
"""The line below a table's head."""

_FENCES = re.compile(r"\A[ \t>]*(?:`{3,}|~{3,})[^\n]*\n?|\n?[ \t>]*(?:`{3,}|~{3,})[ \t]*\Z")
_MAYBE_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)]?)[ \t]*|#{1,6}[ \t]*|[`~]{1,2}")
_ONE_SIGN = re.compile(r"([-*_=])(?:[ \t]*\1)*[ \t]*")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*|=+[ \t]*|-+[ \t]*")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_INDENT_OF_CODE = 4


def split_prefix(line: str) -> tuple[str, str]:
    """Return a line's indentation with its marks of quotation, and the rest."""
    match = PREFIX.match(line)
    assert match is not None
    return match[0], line[match.end() :]


def without_fences(block: str) -> str:
    """Return what is in a block of code."""
    return _FENCES.sub("", block)


def line_kind(line: str, *, complete: bool, may_be_code: bool) -> LineKind:
    """Return what a line is.

    Args:
        line: The line, or what there is of it.
        complete: Whether it is all of it.
        may_be_code: Whether it is code if it is indented; in a paragraph or a list it is not.
    """
    prefix, rest = split_prefix(line)
    if not rest.strip():
        return "blank" if complete else "unknown"
    if may_be_code and ">" not in prefix and len(prefix.expandtabs(_INDENT_OF_CODE)) >= _INDENT_OF_CODE:
        return "indented" if complete else "unknown"
    if not complete and (_MAYBE_MARKER.fullmatch(rest) or _ONE_SIGN.fullmatch(rest)):
        return "unknown"
    kind = _kind_of_rest(rest)
    if kind in ("prose", "list") or complete:
        inside = rest[match.end() :] if (match := LIST_MARKER.match(rest)) else ""
        return "unknown" if not complete and _MAYBE_MARKER.fullmatch(inside) else kind
    return "unknown"


def _kind_of_rest(rest: str) -> LineKind:
    if _RULE.fullmatch(rest):
        return "rule" if rest.strip() not in "-*_" else "list"
    marker = LIST_MARKER.match(rest)
    if FENCE.match(rest, marker.end() if marker else 0):
        return "fence"
    if marker:
        return "list"
    if _HEADING.match(rest):
        return "heading"
    return "table" if rest.startswith("|") else "prose"
