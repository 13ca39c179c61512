"""The lines of a result that are shown where there is no room for all of them."""

import re


def cut_excerpt(text: str, name: str, lines: int) -> tuple[int, list[str]]:
    """Return how many lines are left out above, and `lines` lines from there on: from where the name first stands.

    That is past decorators and comments, and past small neighbours in one chunk. Only a newline ends a line, as in the index.
    """
    code = text.rstrip("\n").split("\n")
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    start = next((index for index, line in enumerate(code) if name and word.search(line)), 0)
    return start, code[start : start + lines]
