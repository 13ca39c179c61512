"""Elision of code: its head with the lines that match the question."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import Final, NamedTuple

_MAX_HEAD_LINES = 8
_MIN_GAP_LINES = 2  # a shorter gap is not worth its own marker
_NEIGHBOUR_FACTOR = 0.5  # share of a line's term value that adjacent lines get
_BRANCH_OR_EXIT: Final = re.compile(
    r"\s*(?:return|raise|throw|yield|if|elif|else|for|while|case|match|switch|try|except|catch)\b"
)
_WORD: Final = re.compile(r"\w")
_BRANCH_VALUE = 0.3  # additional value of a branch or an exit
_WORDLESS_VALUE = 0.2  # value of a line without words, relative to a plain one
_TERM_SHARE = 0.5  # of a declaration's value, for the lines with terms of the question


class WeightedLine(NamedTuple):
    """Line of a file: its 1-based number, text and share of its declaration's value to the reader."""

    number: int
    text: str
    value: float = 0.0


def weigh_lines(text: str, term_idf: Mapping[str, float]) -> list[float]:
    """Compute the share of each line in the value of some code; their sum is 1.

    Half of the value is that of the lines with terms of the question, if there are any.

    Args:
        text: Code.
        term_idf: IDF of each question term, positive.
    """
    lower_text, plain_shares = _compute_plain_shares(text)
    scores = _score_lines(lower_text, term_idf)
    if not any(scores):
        return [*plain_shares]
    padded = [0.0, *scores, 0.0]
    spread = [
        max(score, _NEIGHBOUR_FACTOR * max(padded[position], padded[position + 2]))
        for position, score in enumerate(scores)
    ]
    unit = _TERM_SHARE / sum(spread)
    return [
        (1 - _TERM_SHARE) * plain_share + unit * score for plain_share, score in zip(plain_shares, spread, strict=True)
    ]


@lru_cache(maxsize=4_096)
def _compute_plain_shares(text: str) -> tuple[str, Sequence[float]]:
    """Return the code in lower case, and the shares of its lines independent of the question."""
    values = [
        (1.0 if _WORD.search(line) else _WORDLESS_VALUE) + (_BRANCH_VALUE if _BRANCH_OR_EXIT.match(line) else 0.0)
        for line in text.split("\n")
    ]
    total = sum(values)
    return text.lower(), [value / total for value in values]


def _score_lines(text: str, term_idf: Mapping[str, float]) -> list[float]:
    """Score the question terms in each line; a term in many lines tells little about each. Substring search is fast."""
    lines = text.split("\n")
    scores = [0.0] * len(lines)
    for term, weight in term_idf.items():
        if term in text:
            numbers = [number for number, line in enumerate(lines) if term in line]
            for number in numbers:
                scores[number] += weight / sqrt(len(numbers))
    return scores


def elide_lines(lines: Sequence[WeightedLine], head: int, count: int) -> list[WeightedLine]:
    """Select the head and the most valuable lines after it, in order.

    Args:
        lines: The lines, in their order.
        head: Number of first lines that are always selected.
        count: Number of further lines; gaps that are too short for a marker add a few.
    """
    body = range(min(head, len(lines)), len(lines))
    best = sorted(body, key=lambda position: (-lines[position].value, position))[:count]
    positions = sorted([*range(body.start), *best])
    selected = set(positions)
    for previous, following_position in pairwise([*positions, len(lines)]):
        if following_position - previous - 1 < _MIN_GAP_LINES:
            selected.update(range(previous + 1, following_position))
    return [lines[position] for position in sorted(selected)]


def count_head_lines(texts: Sequence[str], signature: str) -> int:
    """Count the first lines of a declaration with its decorators and signature."""
    compact_signature = "".join(signature.split())
    for first, text in enumerate(texts[:_MAX_HEAD_LINES]):
        compact_text = "".join(text.split())
        if (
            compact_text
            and compact_signature
            and (compact_signature.startswith(compact_text) or compact_text.startswith(compact_signature))
        ):
            length = first + 1
            while len(compact_text) < len(compact_signature) and length < min(len(texts), first + _MAX_HEAD_LINES):
                compact_text += "".join(texts[length].split())
                length += 1
            return length
    return 1


def join_with_markers(lines: Sequence[WeightedLine], first: int, last: int, shown_before: Collection[int] = ()) -> str:
    """Join lines, with a marker for each gap between `first` and `last`.

    Args:
        lines: Shown lines, in order; at least one.
        first: First line of the snippet.
        last: Last line of the snippet.
        shown_before: Numbers of lines that the reader has seen before.
    """
    if len(lines) == last - first + 1:
        return "\n".join([line.text for line in lines])
    parts = []
    previous_number = first - 1
    for line in lines:
        parts.extend(_format_marker(previous_number, line.number, line.text, shown_before))
        parts.append(line.text)
        previous_number = line.number
    parts.extend(_format_marker(previous_number, last + 1, lines[-1].text, shown_before))
    return "\n".join(parts)


def _format_marker(
    previous_number: int, next_number: int, neighbour_text: str, shown_before: Collection[int]
) -> list[str]:
    """Format the marker of the lines between two others, if any."""
    gap_length = next_number - previous_number - 1
    if gap_length <= 0:
        return []
    indent = neighbour_text[: len(neighbour_text) - len(neighbour_text.lstrip())]
    note = (
        ", shown before"
        if shown_before and all(number in shown_before for number in range(previous_number + 1, next_number))
        else ""
    )
    return [f"{indent}… {gap_length} line{'' if gap_length == 1 else 's'}{note}"]
