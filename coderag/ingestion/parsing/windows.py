"""Overlapping windows of a fixed number of tokens, by whole lines."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence


def split_windows(totals: Sequence[int], window_tokens: int, overlap_tokens: int) -> Iterator[tuple[int, int, int]]:
    """Yield the windows of a text, in order: first line, line after the last, and number of lines that the next repeats.

    Each window has as many lines as fit, at least one, and contains a line that no earlier window has.

    Args:
        totals: Cumulative number of tokens above each line; the last entry is the total (`token_counts.sum_line_tokens`).
        overlap_tokens: Maximum number of tokens that a window shares with the next.
    """
    end = len(totals) - 1
    first = 0
    while True:
        last = max(first + 1, bisect_right(totals, totals[first] + window_tokens) - 1)
        if last >= end:
            yield first, end, 0
            return
        repeated = bisect_left(totals, totals[last] - overlap_tokens)
        with_room = bisect_left(
            totals, totals[last + 1] - window_tokens
        )  # leaves room for the first line below this window
        following = min(last, max(first + 1, repeated, with_room))
        yield first, last, last - following
        first = following
