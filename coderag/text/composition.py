"""Composed form (NFC) of texts: ``é`` may be one character, or a letter and an accent, as in file names of macOS."""

import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import Final

import regex  # type: ignore[import-untyped]

_CLUSTER: Final = regex.compile(r"\X")


def compose(text: str) -> str:
    """Return a text with composed characters; texts that look the same become equal."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class ComposedText:
    """A text in composed form, with the offsets of its characters in the original.

    Args:
        original: Text in any form.

    Attributes:
        text: The composed text, with the same lines.
    """

    def __init__(self, original: str) -> None:
        self._original = original
        self.text = compose(original)
        self._original_lines = original.split("\n")
        self._lines = self.text.split("\n")
        self._line_starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._original_starts = list(accumulate((len(line) + 1 for line in self._original_lines), initial=0))

    def find_original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of a span in the composed text; it has whole characters only."""
        return self._find_original(start, at_end=False), self._find_original(end, at_end=True)

    def _find_original(self, offset: int, *, at_end: bool) -> int:
        line = min(bisect_right(self._line_starts, offset), len(self._lines)) - 1
        column, original = offset - self._line_starts[line], self._original_lines[line]
        if original.isascii() or original == self._lines[line]:
            return self._original_starts[line] + column
        position = composed = 0
        for cluster in _CLUSTER.findall(original):
            length = len(compose(cluster))
            if composed + (0 if at_end else length - 1) >= column:
                break
            position, composed = position + len(cluster), composed + length
        return self._original_starts[line] + position
