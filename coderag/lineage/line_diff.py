"""Line differences of two versions of a file: patience diff, with a bounded edit script where no line is unique.

`git` gives better hunks where it is at hand; this serves texts that are in no repository, such as unsaved edits.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from coderag.schema.lineage import Hunk

_MAX_MATCHED_CELLS: Final = 400_000
"""Product of the lines of both sides up to which difflib compares a range without unique lines; 0.1 s at most."""


def diff_lines(old: Sequence[bytes], new: Sequence[bytes]) -> list[Hunk]:
    """Return the changed ranges of two sequences of lines, in order."""
    ids: dict[bytes, int] = {}
    old_ids = [ids.setdefault(line, len(ids)) for line in old]
    new_ids = [ids.setdefault(line, len(ids)) for line in new]
    hunks: list[Hunk] = []
    for old_start, old_end, new_start, new_end in _compare(old_ids, new_ids):
        previous = hunks[-1] if hunks else None
        if previous is not None and _is_adjacent(previous, old_start, new_start):
            hunks[-1] = _build_hunk(_get_first(previous.old_start, previous.old_count), old_end,
                                    _get_first(previous.new_start, previous.new_count), new_end)  # fmt: skip
        else:
            hunks.append(_build_hunk(old_start, old_end, new_start, new_end))
    return hunks


def _get_first(start: int, count: int) -> int:
    return start - 1 if count else start


def _is_adjacent(hunk: Hunk, old_start: int, new_start: int) -> bool:
    old_end = _get_first(hunk.old_start, hunk.old_count) + hunk.old_count
    new_end = _get_first(hunk.new_start, hunk.new_count) + hunk.new_count
    return (old_end, new_end) == (old_start, new_start)


def _build_hunk(old_start: int, old_end: int, new_start: int, new_end: int) -> Hunk:
    old_count, new_count = old_end - old_start, new_end - new_start
    return Hunk(old_start + bool(old_count), old_count, new_start + bool(new_count), new_count)


def _compare(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Yield changed ranges ``[old_start, old_end)``, ``[new_start, new_end)`` in order."""
    stack = [(0, len(old), 0, len(new))]
    while stack:
        old_low, old_high, new_low, new_high = stack.pop()
        while old_low < old_high and new_low < new_high and old[old_low] == new[new_low]:
            old_low, new_low = old_low + 1, new_low + 1
        while old_low < old_high and new_low < new_high and old[old_high - 1] == new[new_high - 1]:
            old_high, new_high = old_high - 1, new_high - 1
        if old_low == old_high or new_low == new_high:
            if old_low < old_high or new_low < new_high:
                yield old_low, old_high, new_low, new_high
            continue
        anchors = _find_anchors(old, new, old_low, old_high, new_low, new_high)
        if anchors:
            bounds = [(old_low, new_low), *((a + 1, b + 1) for a, b in anchors)]
            ends = [*anchors, (old_high, new_high)]
            stack += reversed([(a, c, b, d) for (a, b), (c, d) in zip(bounds, ends, strict=True)])
        elif (old_high - old_low) * (new_high - new_low) <= _MAX_MATCHED_CELLS:
            matcher = SequenceMatcher(None, old[old_low:old_high], new[new_low:new_high], autojunk=False)
            for tag, a, c, b, d in matcher.get_opcodes():
                if tag != "equal":
                    yield old_low + a, old_low + c, new_low + b, new_low + d
        else:
            yield old_low, old_high, new_low, new_high


def _find_anchors(
    old: Sequence[int], new: Sequence[int], old_low: int, old_high: int, new_low: int, new_high: int
) -> list[tuple[int, int]]:
    """Return the longest increasing sequence of lines that are unique in both ranges."""
    old_places = _index_unique(old, old_low, old_high)
    new_places = _index_unique(new, new_low, new_high)
    pairs = [(place, new_places[line]) for line, place in old_places.items() if line in new_places]
    tails: list[int] = []
    tail_positions: list[int] = []
    links = [-1] * len(pairs)
    for position, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        links[position] = tail_positions[length - 1] if length else -1
        if length == len(tails):
            tails.append(place)
            tail_positions.append(position)
        else:
            tails[length], tail_positions[length] = place, position
    anchors = []
    position = tail_positions[-1] if tail_positions else -1
    while position >= 0:
        anchors.append(pairs[position])
        position = links[position]
    return anchors[::-1]


def _index_unique(lines: Sequence[int], low: int, high: int) -> dict[int, int]:
    places: dict[int, int] = {}
    repeated = set()
    for place in range(low, high):
        if lines[place] in places:
            repeated.add(lines[place])
        places.setdefault(lines[place], place)
    for line in repeated:
        del places[line]
    return places
