"""Excerpts of results, for space-limited output."""

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from math import sqrt
from typing import Final

from coderag.question.literals import parse_literal_query
from coderag.retrieval.context.elision import WeightedLine, elide_lines, join_with_markers, weigh_lines
from coderag.text.token_counts import count_tokens
from coderag.text.tokenizer import tokenize_query

_MIN_ADVANTAGE: Final = 1.3
"""Factor by which lines must match a question better than the first ones, which name what they belong to."""

_MIN_TERM_CHARS = 3
_COMMENT: Final = re.compile(r"\s*(?://|#(?!\[|\s*(?:if|else|endif|define))|/?\*(?!\w)|--)")


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


def find_deciding_lines(code: Sequence[str], query: str, limit: int, max_chars: int) -> list[int]:
    """Return the indexes of the lines that decide about a declaration too long to be shown in full, in order.

    The first half are the head and the lines that match the query, the others branches and exits before plain lines.

    Args:
        code: Lines of the declaration.
        query: As in `find_matching_lines`.
        limit: Maximum number of lines; a gap of one line adds it.
        max_chars: Maximum number of characters; the head and one matching line are always returned.
    """
    matching = find_matching_lines(code, query, limit // 2)
    lines = _weigh_deciding_lines(code, matching)
    for count in range(limit - 1, 0, -1):
        selected = elide_lines(lines, 1, count)
        if count == 1 or sum(len(line.text) for line in selected) <= max_chars:
            return [line.number for line in selected]
    return [0]


def elide_to_tokens(code: Sequence[str], first_line: int, max_tokens: int) -> str:
    """Return a declaration cut to its head, branches and exits, with markers for the lines that are left out.

    Args:
        code: Lines of the declaration.
        first_line: Number of its first line.
        max_tokens: Maximum tokens; the head and one line are always shown.
    """
    lines = [
        line._replace(number=first_line + line.number) for line in _weigh_deciding_lines(code, matching=frozenset())
    ]
    last_line = first_line + len(code) - 1

    def cut(count: int) -> str:
        return join_with_markers(elide_lines(lines, 1, count), first_line, last_line)

    fitting = bisect_right(range(1, len(code)), max_tokens, key=lambda count: count_tokens(cut(count)))
    return cut(max(fitting, 1))


def _weigh_deciding_lines(code: Sequence[str], matching: Collection[int]) -> list[WeightedLine]:
    """Weigh the lines of a declaration by their index: matching ones before branches and exits, comments last."""
    values = weigh_lines("\n".join(code), {})
    return [
        WeightedLine(index, text, (index in matching) + (0.0 if _COMMENT.match(text) or not text.strip() else value))
        for index, (text, value) in enumerate(zip(code, values, strict=True))
    ]


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
