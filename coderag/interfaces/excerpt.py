"""Excerpts of results, for space-limited output."""

import re
from collections.abc import Sequence

from coderag.question.literals import parse_literal_query


def cut_excerpt(text: str, name: str, lines: int, query: str = "") -> tuple[int, list[str]]:
    """Return the number of skipped lines, and `lines` lines from the first occurrence of the name.

    This skips decorators, comments and small neighbours in the same chunk. Where the first lines lack a query that is one
    literal, the excerpt begins at its first occurrence instead. Only a newline ends a line, as in the index.
    """
    code = text.rstrip("\n").split("\n")
    start = max(_find_word(code, name), 0)
    literal = parse_literal_query(query)
    if literal and not any(literal in line for line in code[start : start + lines]):
        position = _find_word(code, literal)
        start = position if position >= 0 else start
    return start, code[start : start + lines]


def _find_word(code: Sequence[str], word: str) -> int:
    """Return the index of the first line with a word or text; -1 if there is none."""
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    after = r"(?!\w)" if re.match(r"\w", word[-1:]) else ""
    pattern = re.compile(f"{before}{re.escape(word)}{after}")
    return next((index for index, line in enumerate(code) if word and pattern.search(line)), -1)
