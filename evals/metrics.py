"""How good ranked results are: pure functions of results and of the places that were wanted.

A result *covers* a place if it has a line of it, or is in it where the place is a whole file. It *is* a declaration if at
least half of the result's own lines are the declaration's: decorators, comments and blank lines around it do no harm, a
chunk or class in which it is one of many is not it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple, Protocol

from .golden import Target

_HALF = 0.5
_RANKS: Final = (1, 5, 10)


class Place(Protocol):
    """Lines of a file, 1-based and inclusive."""

    @property
    def path(self) -> str:
        """Seen from the repository's root."""
        ...

    @property
    def start_line(self) -> int:
        """The first line."""
        ...

    @property
    def end_line(self) -> int:
        """The last line."""
        ...


class Shown(NamedTuple):
    """Lines of a file that a context shows."""

    path: str
    lines: Set[int]


Matches = Callable[[Place, Target], bool]


def in_file(result: Place, target: Target) -> bool:
    """Whether a result is in a target's file."""
    return result.path == target.path


def covers(result: Place, target: Target) -> bool:
    """Whether a result has a line of a target."""
    lines = target.lines
    in_lines = lines is None or (result.start_line < lines.stop and lines.start <= result.end_line)
    return result.path == target.path and in_lines


def is_declaration(result: Place, target: Target) -> bool:
    """Whether at least half of a result's lines are a target's."""
    lines = target.lines
    if result.path != target.path or lines is None:
        return result.path == target.path
    shared = min(result.end_line + 1, lines.stop) - max(result.start_line, lines.start)
    return shared >= _HALF * (result.end_line + 1 - result.start_line)


def first_rank(results: Sequence[Place], targets: Sequence[Target], matches: Matches = covers) -> int | None:
    """Return the rank, from 1, of the first result that matches a target; None if none does."""
    ranks = (rank for rank, result in enumerate(results, 1) if any(matches(result, target) for target in targets))
    return next(ranks, None)


def hit(results: Sequence[Place], targets: Sequence[Target], k: int, matches: Matches = covers) -> float:
    """Return 1 if one of the first k results matches a target, else 0."""
    return float(first_rank(results[:k], targets, matches) is not None)


def reciprocal_rank(results: Sequence[Place], targets: Sequence[Target]) -> float:
    """Return 1 / rank of the first result that covers a target; 0 if none does. Its mean over questions is the MRR."""
    rank = first_rank(results, targets)
    return 1 / rank if rank else 0.0


def recall(results: Sequence[Place], targets: Sequence[Target], k: int) -> float:
    """Return the share of the targets that one of the first k results covers."""
    return sum(first_rank(results[:k], [target]) is not None for target in targets) / len(targets)


def precision(results: Sequence[Place], targets: Sequence[Target], k: int) -> float:
    """Return how many of the first k results cover a target, divided by k also where there are fewer results."""
    return sum(any(covers(result, target) for target in targets) for result in results[:k]) / k


def ndcg(results: Sequence[Place], targets: Sequence[Target], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k results.

    A target is found at the rank of the first result that covers it, with gain 1; several found at one rank count once.
    The ideal order has a target at each of the first ranks. Source: Jarvelin and Kekalainen, Cumulated gain-based
    evaluation of IR techniques (2002); which result finds which target is as semble's benchmark has it.
    """
    ranks = {rank for target in targets if (rank := first_rank(results[:k], [target]))}
    ideal = sum(_discount(rank) for rank in range(1, min(k, len(targets)) + 1))
    return sum(map(_discount, ranks)) / ideal if ideal else 0.0


def line_coverage(shown: Iterable[Shown], targets: Sequence[Target]) -> float | None:
    """Return the share of the targets' lines that are shown; None if no target has lines."""
    wanted = {(target.path, line) for target in targets for line in target.lines or ()}
    if not wanted:
        return None
    seen = {(one.path, line) for one in shown for line in one.lines}
    return len(wanted & seen) / len(wanted)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by linear interpolation between the nearest ranks; 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def retrieval_metrics(
    results: Sequence[Place], answers: Sequence[Target], also: Sequence[Target], top_k: int
) -> dict[str, float]:
    """Return all metrics of the results of one question.

    What is right but not needed (`also`) counts for the hits, the reciprocal rank and the precision; for nDCG such results
    are passed over, and recall asks for the answers alone. For ``file_ndcg`` an answer is its whole file.

    Args:
        results: Best first.
        answers: At least one.
        also: See above.
        top_k: How many results were asked for; metrics at higher ranks are left out.
    """
    right = [*answers, *also]
    needed = [result for result in results if _matters(result, answers, also)]
    ranks = sorted({top_k, *(k for k in _RANKS if k <= top_k)})
    found: dict[str, float] = {}
    for name, matches in (("hit", covers), ("function_hit", is_declaration), ("file_hit", in_file)):
        found |= {f"{name}@{k}": hit(results, right, k, matches) for k in ranks}
    found["mrr"] = reciprocal_rank(results, right)
    deepest = min(top_k, _RANKS[-1])
    found[f"ndcg@{deepest}"] = ndcg(needed, answers, deepest)
    files = [Target(path=path) for path in dict.fromkeys(answer.path for answer in answers)]
    found[f"file_ndcg@{deepest}"] = ndcg(needed, files, deepest)
    found |= {f"recall@{k}": recall(results, answers, k) for k in ranks}
    found |= {f"precision@{k}": precision(results, right, k) for k in ranks}
    return found


def latency(milliseconds: Sequence[float]) -> Mapping[str, float]:
    """Return percentiles of the questions' times."""
    return {f"ms_p{percent}": percentile(milliseconds, percent) for percent in (50, 90, 99)}


def _matters(result: Place, answers: Sequence[Target], also: Sequence[Target]) -> bool:
    """Whether a result counts for nDCG: it is an answer, or wrong."""
    return any(covers(result, target) for target in answers) or not any(covers(result, target) for target in also)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
