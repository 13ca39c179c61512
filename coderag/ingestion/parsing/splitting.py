"""Splitting of a line range into parts that fit: at preferred lines, else at any line, else inside a line."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import ceil

from tree_sitter import Node

from coderag.ingestion.parsing.trees import walk_children
from coderag.text.token_counts import count_tokens, estimate_tokens, is_over_limit

_MAX_FILL = 0.9  # maximum planned fill, so that a slightly low estimate does not require another cut
_MIN_PART_SHARE = 0.08  # a smaller part stays with the next one, even if that must be split: a class with its docstring
_SAMPLE_BYTES = 1_500  # counted exactly, to calibrate the estimates
_STATEMENT_BYTES_PER_TOKEN = 2  # nodes larger than max_tokens times this are replaced by their children


def find_statement_lines(root: Node, starts: Sequence[int], first: int, last: int, max_tokens: int) -> list[int]:
    """Return the lines within ``[first, last)`` at which a statement begins, so that no gap is too large.

    A comment stays with the statement below it.
    """
    begin, end = starts[first], starts[last]
    node = root.descendant_for_byte_range(begin, max(begin, end - 1)) or root
    lines: list[int] = []
    line_below_comment = -1  # line below the last comment
    for offset, inner in walk_children(node, begin, end, max_tokens * _STATEMENT_BYTES_PER_TOKEN):
        line = bisect_right(starts, offset) - 1
        if line != line_below_comment and (not lines or line > lines[-1]) and first < line < last:
            lines.append(line)
        if "comment" in inner.type:
            line_below_comment = bisect_right(starts, inner.end_byte - 1)
    return lines


def find_lines_after_blank(data: bytes, starts: Sequence[int], first: int, last: int) -> list[int]:
    """Return the lines within ``[first, last)`` that follow a blank line."""
    has_text = [bool(data[low:high].strip()) for low, high in pairwise(starts[first : last + 1])]
    return [first + index for index in range(1, last - first) if has_text[index] and not has_text[index - 1]]


def split_lines(
    data: bytes, starts: Sequence[int], first: int, last: int, *, cuts: Sequence[int], max_tokens: int
) -> list[tuple[int, int]]:
    """Split the lines ``[first, last)`` into parts of at most ``max_tokens``, of about equal size.

    Args:
        cuts: Preferred lines within the range at which to cut, ascending.

    Returns:
        Start and end of each part in bytes, contiguous. Only a line that exceeds the limit by itself is split.
    """
    begin = starts[first]
    sample = data[begin : min(begin + _SAMPLE_BYTES, starts[last])]
    scale = count_tokens(sample.decode("utf-8", "replace")) / max(1, estimate_tokens(sample))
    bounds = [first, *cuts, last]
    segments = [
        (starts[low], starts[high], scale * estimate_tokens(data[starts[low] : starts[high]]))
        for low, high in pairwise(bounds)
    ]
    total = sum(tokens for *_, tokens in segments)
    target = total / max(1, ceil(total / (_MAX_FILL * max_tokens)))
    parts: list[tuple[int, int]] = []
    filled = 0.0
    for low, _, tokens in segments:
        if filled > _MIN_PART_SHARE * max_tokens and (filled + tokens > max_tokens or filled + tokens / 2 > target):
            parts.append((begin, low))
            begin, filled = low, 0.0
        filled += tokens
    parts.append((begin, starts[last]))
    offsets = [starts[line] for line in cuts]
    return [fitting for part in parts for fitting in _split_in_half(data, *part, offsets, max_tokens)]


def _split_in_half(data: bytes, start: int, end: int, offsets: Sequence[int], max_tokens: int) -> list[tuple[int, int]]:
    """Split a part in half until it fits: at one of the offsets, else at the end of a line, else inside its only line."""
    if not is_over_limit(data[start:end], max_tokens):
        return [(start, end)]
    cut = _find_cut(data, start, end, offsets)
    if cut == start:
        return [(start, end)]
    return [
        *_split_in_half(data, start, cut, offsets, max_tokens),
        *_split_in_half(data, cut, end, offsets, max_tokens),
    ]


def _find_cut(data: bytes, start: int, end: int, offsets: Sequence[int]) -> int:
    """Return the best offset at which to split a part in two; its start if there is none."""
    middle = (start + end) // 2
    inside = offsets[bisect_right(offsets, start) : bisect_left(offsets, end)]
    margin = (end - start) // 8
    if inside and start + margin < (nearest := min(inside, key=lambda offset: abs(offset - middle))) < end - margin:
        return nearest
    after, before = data.find(b"\n", middle, end - 1) + 1, data.rfind(b"\n", start, middle) + 1
    if after and before:
        return min(after, before, key=lambda offset: abs(offset - middle))
    if after or before:
        return after or before
    while middle > start and data[middle] & 0xC0 == 0x80:  # not inside a character
        middle -= 1
    return middle
