"""Retrieval metrics: pure functions of ranked results and targets.

A result *covers* a target if it has a line of it, or is in its file where the target is a whole file. A result *is* a
declaration if at least half of the result's own lines belong to it. So decorators, comments and blank lines around a
declaration are harmless, but a class or chunk with many declarations does not match each of them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple, Protocol

from .golden import Target

_MIN_OWN_SHARE = 0.5
_RANKS: Final = (1, 5, 10)


class FileLines(Protocol):
    """Lines of a file, 1-based and inclusive."""

    @property
    def path(self) -> str:
        """Path relative to the repository root."""
        ...

    @property
    def start_line(self) -> int:
        """The first line."""
        ...

    @property
    def end_line(self) -> int:
        """The last line."""
        ...


class ContextLines(NamedTuple):
    """Lines of one file that a context shows."""

    path: str
    lines: Set[int]


Matches = Callable[[FileLines, Target], bool]


def is_in_file(result: FileLines, target: Target) -> bool:
    """Return whether a result is in a target's file."""
    return result.path == target.path


def has_target_line(result: FileLines, target: Target) -> bool:
    """Return whether a result covers a target."""
    lines = target.lines
    in_lines = lines is None or (result.start_line < lines.stop and lines.start <= result.end_line)
    return result.path == target.path and in_lines


def is_declaration(result: FileLines, target: Target) -> bool:
    """Return whether at least half of a result's lines belong to a target."""
    lines = target.lines
    if result.path != target.path or lines is None:
        return result.path == target.path
    shared = min(result.end_line + 1, lines.stop) - max(result.start_line, lines.start)
    return shared >= _MIN_OWN_SHARE * (result.end_line + 1 - result.start_line)


def find_first_rank(
    results: Sequence[FileLines], targets: Sequence[Target], matches: Matches = has_target_line
) -> int | None:
    """Return the rank, from 1, of the first result that matches a target; None if none does."""
    ranks = (rank for rank, result in enumerate(results, 1) if any(matches(result, target) for target in targets))
    return next(ranks, None)


def compute_hit(
    results: Sequence[FileLines], targets: Sequence[Target], k: int, matches: Matches = has_target_line
) -> float:
    """Return 1 if one of the first k results matches a target, else 0."""
    return float(find_first_rank(results[:k], targets, matches) is not None)


def compute_reciprocal_rank(results: Sequence[FileLines], targets: Sequence[Target]) -> float:
    """Return 1 / rank of the first result that covers a target; 0 if none does. Its mean over questions is the MRR."""
    rank = find_first_rank(results, targets)
    return 1 / rank if rank else 0.0


def compute_recall(results: Sequence[FileLines], targets: Sequence[Target], k: int) -> float:
    """Return the share of the targets that one of the first k results covers."""
    return sum(find_first_rank(results[:k], [target]) is not None for target in targets) / len(targets)


def compute_precision(results: Sequence[FileLines], targets: Sequence[Target], k: int) -> float:
    """Return the share of k results that cover a target; missing results count as wrong."""
    return sum(any(has_target_line(result, target) for target in targets) for result in results[:k]) / k


def compute_ndcg(results: Sequence[FileLines], targets: Sequence[Target], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k results.

    A target has gain 1 at the rank of the first result that covers it; several targets at one rank count once. The ideal
    order has a target at each of the first ranks. Source: Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR
    techniques (2002). Results match targets as in semble's benchmark.
    """
    ranks = {rank for target in targets if (rank := find_first_rank(results[:k], [target]))}
    ideal = sum(_compute_discount(rank) for rank in range(1, min(k, len(targets)) + 1))
    return sum(map(_compute_discount, ranks)) / ideal if ideal else 0.0


def compute_line_coverage(context: Iterable[ContextLines], targets: Sequence[Target]) -> float | None:
    """Return the share of the targets' lines that a context shows; None if no target has lines."""
    wanted = {(target.path, line) for target in targets for line in target.lines or ()}
    if not wanted:
        return None
    seen = {(entry.path, line) for entry in context for line in entry.lines}
    return len(wanted & seen) / len(wanted)


def compute_percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by linear interpolation between the nearest ranks; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def compute_retrieval_metrics(
    results: Sequence[FileLines], answers: Sequence[Target], also: Sequence[Target], top_k: int
) -> dict[str, float]:
    """Return all metrics of the results of one question.

    Optional targets (`also`) count for hits, reciprocal rank and precision. nDCG skips results that cover them, and recall
    ignores them. For ``file_ndcg`` each answer is its whole file.

    Args:
        results: Best first.
        answers: Required targets, at least one.
        also: Optional targets.
        top_k: Number of requested results; metrics at higher ranks are left out.
    """
    right = [*answers, *also]
    needed = [result for result in results if _is_counted(result, answers, also)]
    ranks = sorted({top_k, *(k for k in _RANKS if k <= top_k)})
    metrics: dict[str, float] = {}
    for name, matches in (("hit", has_target_line), ("function_hit", is_declaration), ("file_hit", is_in_file)):
        metrics |= {f"{name}@{k}": compute_hit(results, right, k, matches) for k in ranks}
    metrics["mrr"] = compute_reciprocal_rank(results, right)
    depth = min(top_k, _RANKS[-1])
    metrics[f"ndcg@{depth}"] = compute_ndcg(needed, answers, depth)
    files = [Target(path=path) for path in dict.fromkeys(answer.path for answer in answers)]
    metrics[f"file_ndcg@{depth}"] = compute_ndcg(needed, files, depth)
    metrics |= {f"recall@{k}": compute_recall(results, answers, k) for k in ranks}
    metrics |= {f"precision@{k}": compute_precision(results, right, k) for k in ranks}
    return metrics


def compute_latency(milliseconds: Sequence[float]) -> Mapping[str, float]:
    """Return the 50th, 90th and 99th percentiles of the questions' times."""
    return {f"ms_p{percent}": compute_percentile(milliseconds, percent) for percent in (50, 90, 99)}


def _is_counted(result: FileLines, answers: Sequence[Target], also: Sequence[Target]) -> bool:
    """Return whether a result counts for nDCG: it covers an answer, or is wrong."""
    return any(has_target_line(result, target) for target in answers) or not any(
        has_target_line(result, target) for target in also
    )


def _compute_discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
