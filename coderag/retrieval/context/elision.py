"""Elision of code: its most relevant lines, its signature with the docstring, or one line."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

_TAIL_LINE_COUNT = 1
_MAX_HEAD_LINES = 8
_MIN_GAP_LINES = 2  # a shorter gap is not worth its own marker
_NEIGHBOUR_FACTOR = 0.5  # share of a line's term value that adjacent lines get
_BRANCH_OR_EXIT: Final = re.compile(
    r"\s*(?:return|raise|throw|yield|if|elif|else|for|while|case|match|switch|try|except|catch)\b"
)
_WORD: Final = re.compile(r"\w")
_BRANCH_VALUE = 0.3  # additional value of a branch or an exit
_WORDLESS_VALUE = 0.2  # value of a line without words


class WeightedLine(NamedTuple):
    """Line of a file: its 1-based number, text and value to the reader."""

    number: int
    text: str
    value: float = 1.0


def weigh_lines(text: str, term_idf: Mapping[str, float], word_weight: float) -> list[float]:
    """Compute the value of each line: 1 for a plain one, more for question terms.

    Args:
        text: Code.
        term_idf: IDF of each question term, positive.
        word_weight: Additional value of a line with the rarest term.
    """
    lower_text, plain_values = _compute_plain_values(text)
    question_values = _score_lines(lower_text, term_idf)
    if not any(question_values):
        return [*plain_values]
    padded = [0.0, *question_values, 0.0]
    neighbour_values = (
        _NEIGHBOUR_FACTOR * max(padded[number], padded[number + 2]) for number in range(len(question_values))
    )
    return [
        plain_value + word_weight * max(own_value, neighbour_value)
        for plain_value, own_value, neighbour_value in zip(plain_values, question_values, neighbour_values, strict=True)
    ]


@lru_cache(maxsize=4_096)
def _compute_plain_values(text: str) -> tuple[str, Sequence[float]]:
    """Return the code in lower case, and its line values independent of the question."""
    lower_text = text.lower()
    values = [
        (1.0 if _WORD.search(line) else _WORDLESS_VALUE) + (_BRANCH_VALUE if _BRANCH_OR_EXIT.match(line) else 0.0)
        for line in text.split("\n")
    ]
    return lower_text, values


def _score_lines(text: str, term_idf: Mapping[str, float]) -> list[float]:
    """Score the question terms in each line, 0 to 1; substring search is fast."""
    lines = text.split("\n")
    scores = [0.0] * len(lines)
    max_idf = max(term_idf.values(), default=1.0)
    for term, weight in term_idf.items():
        if term in text:
            for number, line in enumerate(lines):
                if term in line:
                    scores[number] += weight / max_idf
    return [min(value, 1.0) for value in scores]


def elide_lines(lines: Sequence[WeightedLine], head: int, share: float) -> list[WeightedLine]:
    """Select the head, the last line and the most valuable lines between, in order.

    Args:
        lines: The lines, in their order.
        head: Number of first lines that are always shown.
        share: Share of lines to show, 0 to 1; gaps that are too short add a few.
    """
    kept_positions = set(range(min(head, len(lines)))) | set(range(max(len(lines) - _TAIL_LINE_COUNT, 0), len(lines)))
    order = sorted(range(len(lines)), key=lambda position: (-lines[position].value, position))
    for position in order:
        if len(kept_positions) >= share * len(lines):
            break
        kept_positions.add(position)
    positions = sorted(kept_positions)
    for previous, following_position in pairwise(positions):
        if following_position - previous - 1 < _MIN_GAP_LINES:
            kept_positions.update(range(previous, following_position))
    return [lines[position] for position in sorted(kept_positions)]


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


def format_signature(signature: str, docstring: str) -> str:
    """Format a declaration's signature and docstring."""
    return f"{signature}\n{_indent(docstring)}".rstrip() if docstring else signature


def _indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip().split("\n"))
