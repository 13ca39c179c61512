"""Excerpts of results, for space-limited output."""

import re
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final

from coderag.question.literals import parse_literal_query
from coderag.text.tokenizer import tokenize_query

_MIN_ADVANTAGE: Final = 1.3
"""Factor by which lines must match a question better than the first ones, which name what they belong to."""

_MIN_TERM_CHARS = 3


def cut_excerpt(text: str, name: str, lines: int, query: str = "") -> tuple[int, list[str]]:
    """Return the number of skipped lines, and the `lines` lines that match a query best.

    They begin at the first occurrence of the name, which skips decorators, comments and small neighbours in the same
    chunk, unless later lines have the query's literal, or clearly more of its words. Only a newline ends a line, as in
    the index.
    """
    code = text.rstrip("\n").split("\n")
    start = max(_find_word(code, name), 0)
    literal = parse_literal_query(query)
    if literal:
        if not any(literal in line for line in code[start : start + lines]):
            position = _find_word(code, literal)
            start = position if position >= 0 else start
    elif lines and start + lines < len(code):
        start = _find_best_start(code, start, lines, query)
    return start, code[start : start + lines]


def find_matching_lines(code: Sequence[str], query: str, limit: int) -> list[int]:
    """Return the indexes of at most `limit` lines that match a query, in order; each adds a word to the others.

    Args:
        code: Lines of a declaration.
        query: Its literal, if any, precedes its words.
        limit: Maximum number of lines.
    """
    literal = parse_literal_query(query)
    selected = [index for index, line in enumerate(code) if literal and literal in line][:limit]
    positions = _find_terms(code, query)
    while len(selected) < limit:
        uncovered = [indexes for indexes in positions.values() if not {*indexes}.intersection(selected)]
        scores: dict[int, float] = {}
        for indexes in uncovered:
            for index in indexes:
                scores[index] = scores.get(index, 0.0) + 1 / sqrt(len(indexes))
        if not scores:
            break
        selected.append(max(scores, key=lambda index: (scores[index], -index)))
    return sorted(selected)


def _find_best_start(code: Sequence[str], name_start: int, lines: int, query: str) -> int:
    """Return the index of the first line of the excerpt that matches a question best."""
    positions = _find_terms(code[name_start:], query)
    if not positions:
        return name_start
    scores = {
        start: _score_window(positions, start, lines)
        for start in (0, *(max(position - (lines > 1), 0) for indexes in positions.values() for position in indexes))
    }
    best = max(scores, key=lambda start: (scores[start], -start))
    return name_start + (best if scores[best] > _MIN_ADVANTAGE * scores[0] else 0)


def _find_terms(code: Sequence[str], query: str) -> dict[str, list[int]]:
    """Return the indexes of the lines with each term of a query."""
    lowered = [line.lower() for line in code]
    positions = {
        term: [index for index, line in enumerate(lowered) if term in line]
        for term in dict.fromkeys(tokenize_query(query))
        if len(term) >= _MIN_TERM_CHARS
    }
    return {term: indexes for term, indexes in positions.items() if indexes}


def _score_window(positions: Mapping[str, Sequence[int]], start: int, lines: int) -> float:
    """Score the terms in some lines; a term of many lines says little about each."""
    return sum(
        1 / sqrt(len(indexes))
        for indexes in positions.values()
        if any(start <= index < start + lines for index in indexes)
    )


def _find_word(code: Sequence[str], word: str) -> int:
    """Return the index of the first line with a word or text; -1 if there is none."""
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    after = r"(?!\w)" if re.match(r"\w", word[-1:]) else ""
    pattern = re.compile(f"{before}{re.escape(word)}{after}")
    return next((index for index, line in enumerate(code) if word and pattern.search(line)), -1)
