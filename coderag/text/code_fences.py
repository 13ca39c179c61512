"""Markdown code fences that the code cannot close."""

import re

_BACKTICKS = re.compile(r"`+")


def make_fence(text: str, min_length: int = 3) -> str:
    """Return a run of backticks that is longer than any in the text.

    Args:
        text: Text to enclose.
        min_length: Minimum length: 3 for a block, 1 for a span.
    """
    longest_run = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    return "`" * max(min_length, longest_run + 1)


def format_code_span(text: str) -> str:
    """Format a line as a Markdown code span that it cannot close."""
    fence = make_fence(text, 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"
