"""Pages of an item's text: runs of lines within a number of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.text.token_counts import estimate_tokens


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page of a text, with the number of its first line, from 1."""

    text: str
    start_line: int


def split_pages(text: str, max_tokens: int) -> Sequence[TextPage]:
    """Split a text into pages at line ends; a line that is longer than a page is a page of its own.

    All pages joined by line feeds are the text.

    Args:
        text: The text.
        max_tokens: Maximum size of a page, in estimated tokens.
    """
    pages: list[TextPage] = []
    lines: list[str] = []
    tokens = 0
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        line_tokens = estimate_tokens(f"{line}\n".encode("utf-8", "replace"))
        if lines and tokens + line_tokens > max_tokens:
            pages.append(TextPage("\n".join(lines), start))
            lines, tokens, start = [], 0, number
        lines.append(line)
        tokens += line_tokens
    return [*pages, TextPage("\n".join(lines), start)]
