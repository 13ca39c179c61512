"""Long lines: the parts of one line that are data, such as base64 or coordinates, are left out of the chunks.

The first part of a line stays, so that the names at its beginning are found; exact search reads the files and finds the rest.
"""

import re
from collections.abc import Sequence
from typing import Final

from coderag.ingestion.parsing.parsed_file import ParsedChunk

MAX_LINE_CHUNKS: Final = 20
"""Chunks of one line; what comes behind them is data, whatever it looks like."""

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{3,24}(?![^\W_])")
_IDEOGRAPH = re.compile(r"[\u2e80-\uffdc]")  # East Asian text has no spaces between words
_MIN_WORD_SHARE = 0.2


def drop_line_data(chunks: Sequence[ParsedChunk]) -> tuple[list[ParsedChunk], int]:
    """Drop the chunks that lie within a line and are data; return the others, and the number of dropped characters."""
    remaining: list[ParsedChunk] = []
    dropped_chars = line = n_parts = 0
    ends_line = True
    for chunk in chunks:
        is_inside_line = not ends_line and chunk.metadata["start_line"] == line
        n_parts = n_parts + 1 if is_inside_line else 1
        ends_line, line = chunk.text.endswith("\n"), chunk.metadata["end_line"]
        if (
            is_inside_line
            and chunk.metadata["start_line"] == line
            and (n_parts > MAX_LINE_CHUNKS or _is_data(chunk.text))
        ):
            dropped_chars += len(chunk.text)
        else:
            remaining.append(chunk)
    return remaining, dropped_chars


def _is_data(text: str) -> bool:
    """Return whether little of a text is words."""
    word_chars = sum(len(word) for word in _WORD.findall(text)) + len(_IDEOGRAPH.findall(text))
    return word_chars < _MIN_WORD_SHARE * len(text)
