"""Occurrences of a literal in a text, as typed or in another spelling convention."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from coderag.text.composition import compose

_DECLARING_QUALITY, _DELIMITED_QUALITY, _BOUNDED_QUALITY = 0.92, 0.85, 0.75
_MAX_OCCURRENCES = 40  # of one chunk
_MAX_LINE_CHARS = 500  # a longer line is data
_OPERATOR_SIGNS: Final = frozenset("!%&*+-./:<=>?@^|~")

_LONGER_BEFORE: Final = re.compile(r"\w-")
_LONGER_AFTER: Final = re.compile(r"-\w")
"""The literal is part of a longer name with hyphens."""

_BEFORE_KEY: Final = re.compile(
    r"\s*(?:[-*]\s+)?(?:\(?(?!(?:return|import|from|use|using|require|include|raise|throw|new|await|yield)\b)[\w-]+\s+)?"
    r"[\"'`\[.#@$:*&<]*"
)
_AFTER_KEY: Final = re.compile(r"[\"'`\]]*\s*(?:[:=({\[|>]|\s|$)")
"""A line that declares a name or sets a key begins with it, or with one keyword before it."""


class LiteralOccurrence(NamedTuple):
    """An occurrence in a text: its 0-based line, and its quality, 0 to 1."""

    line: int
    quality: float


def find_exact(text: str, literal: str) -> list[LiteralOccurrence]:
    """Find the occurrences of a literal that are not part of a longer word."""
    text, literal = compose(text), compose(literal)
    return _describe(text, _iter_spans(text, literal)) if literal in text else []


def find_respelt(text: str, parts: Sequence[str]) -> list[LiteralOccurrence]:
    """Find the occurrences of a name's words in any convention: ``maxRetries``, ``max-retries``, ``MAX_RETRIES``."""
    text, pattern = compose(text), _compile_convention_free(tuple(parts))
    return _describe(text, (match.span() for match in pattern.finditer(text)))


def strip_signs(literal: str) -> str:
    """Strip the signs around a literal's words: ``--dry-run``, ``.btn``, ``$HOME``; empty if it has no word."""
    match = re.search(r"\w(?:.*\w)?[!?]?", literal, re.DOTALL)
    return match[0] if match else ""


@lru_cache(64)
def _compile_convention_free(parts: tuple[str, ...]) -> re.Pattern[str]:
    words = "[-_.]?".join(map(re.escape, parts))
    return re.compile(rf"(?<![^\W_]){words}(?![^\W_])", re.IGNORECASE)


def _iter_spans(text: str, literal: str) -> Iterator[tuple[int, int]]:
    position = text.find(literal)
    while position >= 0:
        end = position + len(literal)
        if not (
            _is_continued(text[position - 1 : position], literal[0]) or _is_continued(text[end : end + 1], literal[-1])
        ):
            yield position, end
        position = text.find(literal, end)


def _is_continued(neighbour: str, edge: str) -> bool:
    """Return whether a character next to a literal continues the word at its edge."""
    return _is_word(neighbour) and _is_word(edge)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _describe(text: str, spans: Iterator[tuple[int, int]]) -> list[LiteralOccurrence]:
    """Return the line and quality of each span."""
    occurrences = []
    line = position = 0
    for start, end in spans:
        line += text.count("\n", position, start)
        position = start
        occurrences.append(LiteralOccurrence(line, _rate(text, start, end)))
        if len(occurrences) == _MAX_OCCURRENCES:
            break
    return occurrences


def _rate(text: str, start: int, end: int) -> float:
    """Rate an occurrence: one that begins its line as a key does before others, one within a longer name last."""
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    is_operator = not any(map(_is_word, text[start:end]))
    if is_operator and (before[-1:] in _OPERATOR_SIGNS or after[:1] in _OPERATOR_SIGNS):
        return _BOUNDED_QUALITY
    if not is_operator and (_LONGER_BEFORE.fullmatch(before) or _LONGER_AFTER.fullmatch(after)):
        return _BOUNDED_QUALITY
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    declares = (
        line_end - line_start <= _MAX_LINE_CHARS
        and _BEFORE_KEY.fullmatch(text, line_start, start) is not None
        and _AFTER_KEY.match(text, end, line_end) is not None
    )
    return _DECLARING_QUALITY if declares else _DELIMITED_QUALITY
