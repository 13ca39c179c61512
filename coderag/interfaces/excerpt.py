"""Excerpts of results, for space-limited output."""

import re


def cut_excerpt(text: str, name: str, lines: int) -> tuple[int, list[str]]:
    """Return the number of skipped lines, and `lines` lines from the first occurrence of the name.

    This skips decorators, comments and small neighbours in the same chunk. Only a newline ends a line, as in the index.
    """
    code = text.rstrip("\n").split("\n")
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    start = next((index for index, line in enumerate(code) if name and word.search(line)), 0)
    return start, code[start : start + lines]
