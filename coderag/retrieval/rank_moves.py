"""Moves in rank between two rankings of one query."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RankChange = Literal["same", "up", "down", "new", "gone"]
"""Change of a result's rank; ``new``: it was not among the results before, ``gone``: it is not any more."""

_PlaceKey = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class RankedPlace:
    """Result in a ranking; its name is qualified."""

    path: str
    name: str
    kind: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class RankMove:
    """Move of one result between two rankings.

    Attributes:
        rank: Rank now, 1 is first; None if it is gone.
        previous_rank: Rank before; None if it is new.
        steps: Number of ranks that it moved up, negative for down; 0 without two ranks.
    """

    path: str
    name: str
    kind: str
    start_line: int
    end_line: int
    change: RankChange
    rank: int | None
    previous_rank: int | None
    steps: int


def compare_rankings(previous: Sequence[RankedPlace], current: Sequence[RankedPlace]) -> list[RankMove]:
    """Compare two rankings: the current results in their order, then those that are gone.

    Results are the same by file and name, and by their order among equal names: lines move with every edit.
    """
    previous_ranks = _index_ranks(previous)
    current_ranks = _index_ranks(current)
    moves = [_build_move(current[rank - 1], rank, previous_ranks.get(key)) for key, rank in current_ranks.items()]
    moves += [
        _build_move(previous[rank - 1], None, rank) for key, rank in previous_ranks.items() if key not in current_ranks
    ]
    return moves


def _index_ranks(places: Sequence[RankedPlace]) -> dict[_PlaceKey, int]:
    by_line = sorted(range(len(places)), key=lambda index: places[index].start_line)
    seen: Counter[tuple[str, str]] = Counter()
    keys: dict[int, _PlaceKey] = {}
    for index in by_line:
        place = places[index]
        keys[index] = (place.path, place.name, seen[place.path, place.name])
        seen[place.path, place.name] += 1
    return {keys[index]: index + 1 for index in range(len(places))}


def _build_move(place: RankedPlace, rank: int | None, previous_rank: int | None) -> RankMove:
    change: RankChange
    steps = 0
    if rank is None:
        change = "gone"
    elif previous_rank is None:
        change = "new"
    else:
        steps = previous_rank - rank
        change = "up" if steps > 0 else "down" if steps < 0 else "same"
    return RankMove(
        place.path, place.name, place.kind, place.start_line, place.end_line, change, rank, previous_rank, steps
    )
