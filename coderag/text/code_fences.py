"""Marks around code in Markdown that nothing in the code can close."""

import re

_BACKTICKS = re.compile(r"`+")


def make_fence(text: str, min_length: int = 3) -> str:
    """Return backticks, more of them than stand together anywhere in a text.

    Args:
        text: What is to be put between them.
        least: How many there are at least: 3 for a block, 1 for a span.
    """
    longest_run = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    return "`" * max(min_length, longest_run + 1)
