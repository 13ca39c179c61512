"""Windows of a fixed number of tokens that overlap, by whole lines."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence


def split_windows(totals: Sequence[int], window_tokens: int, overlap_tokens: int) -> Iterator[tuple[int, int, int]]:
    """Yield the windows of a text, in order: first line, line after the last, and how many lines the next one repeats.

    Each has as many lines as fit, at least one, and holds a line that none before it has.

    Args:
        totals: Tokens above each line; the last entry is the number of all (`token_counts.sum_line_tokens`).
        overlap_tokens: Most tokens that a window shares with the next.
    """
    end = len(totals) - 1
    first = 0
    while True:
        last = max(first + 1, bisect_right(totals, totals[first] + window_tokens) - 1)
        if last >= end:
            yield first, end, 0
            return
        repeated = bisect_left(totals, totals[last] - overlap_tokens)
        with_room = bisect_left(totals, totals[last + 1] - window_tokens)  # for the first line below this window
        following = min(last, max(first + 1, repeated, with_room))
        yield first, last, last - following
        first = following
