"""Incremental classification of Markdown lines from as little text as possible."""

import re
from typing import Final, Literal

LineKind = Literal["blank", "prose", "list", "heading", "table", "fence", "rule", "indented", "unknown"]
"""Kind of a line: ``indented`` is indented code; ``unknown`` needs more of the line."""

LINE_PREFIX: Final = re.compile(r"(?:[ \t]*>)*[ \t]*")
"""Indentation and quotation marks."""

LIST_MARKER: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
FENCE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*([^\n]*)")
TABLE_DELIMITER: Final = re.compile(r"[ \t>]*+[ \t:|]*+-[ \t:|-]*+")
"""Delimiter row below a table's head."""

_FENCE_LINES = re.compile(r"\A[ \t>]*(?:`{3,}|~{3,})[^\n]*\n?|\n?[ \t>]*(?:`{3,}|~{3,})[ \t]*\Z")
_PARTIAL_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)]?)[ \t]*|#{1,6}[ \t]*|[`~]{1,2}")
_REPEATED_SIGN = re.compile(r"([-*_=])(?:[ \t]*\1)*[ \t]*")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*|=+[ \t]*|-+[ \t]*")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_CODE_INDENT = 4


def split_prefix(line: str) -> tuple[str, str]:
    """Split a line into its indentation with quotation marks, and the rest."""
    match = LINE_PREFIX.match(line)
    assert match is not None
    return match[0], line[match.end() :]


def strip_fences(block: str) -> str:
    """Return the content of a code block."""
    return _FENCE_LINES.sub("", block)


def classify_line(line: str, *, complete: bool, may_be_code: bool) -> LineKind:
    """Classify a line.

    Args:
        line: Line, possibly incomplete.
        complete: Whether the line is complete.
        may_be_code: Whether indentation means code; in a paragraph or a list it does not.
    """
    prefix, content = split_prefix(line)
    if not content.strip():
        return "blank" if complete else "unknown"
    if may_be_code and ">" not in prefix and len(prefix.expandtabs(_CODE_INDENT)) >= _CODE_INDENT:
        return "indented" if complete else "unknown"
    if not complete and (_PARTIAL_MARKER.fullmatch(content) or _REPEATED_SIGN.fullmatch(content)):
        return "unknown"
    kind = _classify_content(content)
    if kind in ("prose", "list") or complete:
        list_content = content[match.end() :] if (match := LIST_MARKER.match(content)) else ""
        return "unknown" if not complete and _PARTIAL_MARKER.fullmatch(list_content) else kind
    return "unknown"


def _classify_content(content: str) -> LineKind:
    if _RULE.fullmatch(content):
        return "rule" if content.strip() not in "-*_" else "list"
    marker = LIST_MARKER.match(content)
    if FENCE.match(content, marker.end() if marker else 0):
        return "fence"
    if marker:
        return "list"
    if _HEADING.match(content):
        return "heading"
    return "table" if content.startswith("|") else "prose"
