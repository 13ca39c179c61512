"""Lookup of the innermost text range around an offset: declarations, blocks, function bodies."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class IntervalIndex:
    """Index of nested spans for lookup by offset.

    Args:
        starts: Start of each span, in order.
        ends: End of each span, exclusive.
        outer: Position of the span around each; -1 if there is none.
    """

    def __init__(self, starts: Sequence[int], ends: Sequence[int], outer: Sequence[int]) -> None:
        self._bounds, self._innermost = [0], [-1]  # between two bounds, one span is the innermost
        for position, start in enumerate(starts):
            following = starts[position + 1] if position + 1 < len(starts) else max(ends) + 1
            bound, inner = start, position
            while bound < following:
                while inner >= 0 and ends[inner] <= bound:
                    inner = outer[inner]
                self._bounds.append(bound)
                self._innermost.append(inner)
                if inner < 0:
                    break
                bound = ends[inner]

    def find_innermost(self, offset: int) -> int:
        """Return the position of the innermost span around an offset; -1 if there is none."""
        return self._innermost[bisect_right(self._bounds, offset) - 1]

    def find_innermost_of_each(self, offsets: Sequence[int]) -> list[int]:
        """Return the position of the innermost span around each offset."""
        bounds, innermost = self._bounds, self._innermost
        return [innermost[bisect_right(bounds, offset) - 1] for offset in offsets]


class TextRange(NamedTuple):
    """A range of a text: bytes ``[start, end)``, and its first and last line (1-based)."""

    start: int
    end: int
    first_line: int
    last_line: int


class TextRanges:
    """Text ranges that are nested or disjoint.

    Args:
        ranges: Ranges in any order.
    """

    def __init__(self, ranges: Iterable[TextRange]) -> None:
        self._ranges = sorted(set(ranges), key=lambda text_range: (text_range.start, -text_range.end))
        outers: list[int] = []
        for text_range in self._ranges:
            outer = len(outers) - 1
            while outer >= 0 and self._ranges[outer].end < text_range.end:
                outer = outers[outer]
            outers.append(outer)
        self._intervals = IntervalIndex(
            [text_range.start for text_range in self._ranges], [text_range.end for text_range in self._ranges], outers
        )

    def find_innermost(self, offset: int) -> TextRange | None:
        """Return the innermost range around an offset; None if there is none."""
        position = self._intervals.find_innermost(offset)
        return self._ranges[position] if position >= 0 else None
