"""Outcome of a failure as its line states it: the error and message that are raised, the value returned, the text logged."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from coderag.answering.evidence.failure_statements import FailureStatement, find_failure_statements, measure_indent

_MAX_JOINED_LINES: Final = 6
_MAX_HANDLER_LINES: Final = 20
_MAX_OUTCOMES: Final = 2
_OPENING, _CLOSING = "([{", ")]}"
_STRING: Final = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_RAISING: Final = re.compile(r"\b(?:raise|rethrow|throw)\b(?:\s+new\b)?\s*")
_RETURNING: Final = re.compile(r"\breturn\b\s*")
_TRAILING: Final = re.compile(r"[\s;,{]+$")
_CONTINUED: Final = re.compile(r"(?:<>|\|\||&&|[+.\\,])$")
_ARM: Final = re.compile(r"=>\s*(.*)")  # of a match: what is done stands behind the arrow
_NO_CODE: Final = re.compile(r"^\s*(?://|#|/?\*|--|$)|^\W*$")


def read_expression(lines: Sequence[str], statement: FailureStatement) -> str:
    """Read what a statement raises, returns or calls, also over several lines; empty for a bare ``raise``."""
    text = _join_lines(lines, statement.position)
    keyword = {"raises": _RAISING, "returns": _RETURNING}.get(statement.kind)
    if keyword and (match := keyword.search(text)):
        text = text[match.end() :]
    return _TRAILING.sub("", text)


def list_handler_outcomes(
    lines: Sequence[str], statement: FailureStatement, term_idf: Mapping[str, float]
) -> list[tuple[FailureStatement | None, str]]:
    """List what a handler does, in order: the statements about failures with most of the question, else its first line.

    Each has its statement, None for another line, and its code. A handler that ignores the failure has none.
    """
    block = _find_block(lines, statement.position)
    inside = [lines[position] if position in block else "" for position in range(block.stop)]
    statements = [inner for inner in find_failure_statements(inside) if inner.position in block]
    statements = [inner for inner in statements if inner.kind != "handles"]

    def rate(inner: FailureStatement) -> float:
        text = _join_lines(lines, inner.position).lower()
        return sum(idf for term, idf in term_idf.items() if term in text)

    best = sorted(statements, key=lambda inner: -rate(inner))[:_MAX_OUTCOMES]
    if best:
        return [(inner, read_expression(lines, inner)) for inner in sorted(best, key=lambda inner: inner.position)]
    first = next((position for position in block if not _NO_CODE.match(lines[position])), None)
    if first is not None:
        return [(None, _TRAILING.sub("", _join_lines(lines, first)))]
    arm = _ARM.search(lines[statement.position])
    result = _TRAILING.sub("", arm[1]).strip("{} ") if arm else ""
    return [(None, result)] if result else []


def _find_block(lines: Sequence[str], position: int) -> range:
    """Find the lines below one that are indented deeper than it."""
    indent, stop = measure_indent(lines[position]), position + 1
    for stop in range(position + 1, min(position + 1 + _MAX_HANDLER_LINES, len(lines))):
        if lines[stop].strip() and measure_indent(lines[stop]) <= indent:
            return range(position + 1, stop)
    return range(position + 1, min(stop + 1, len(lines)))


def _join_lines(lines: Sequence[str], position: int) -> str:
    """Join a line with those after it until its brackets are closed."""
    text, depth = "", 0
    for line in lines[position : position + _MAX_JOINED_LINES]:
        part = line.strip()
        text = f"{text}{'' if not text or text[-1] in _OPENING or part[:1] in _CLOSING else ' '}{part}"
        bare = _STRING.sub("", part).removesuffix("{")
        depth += sum(bare.count(sign) for sign in _OPENING) - sum(bare.count(sign) for sign in _CLOSING)
        if depth <= 0 and not _CONTINUED.search(part):
            break
    return text
