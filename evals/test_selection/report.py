"""Figures of the selections, with bootstrap intervals over commits."""

from collections.abc import Iterator, Sequence
from typing import Final

from ..statistics import estimate  # noqa: TID252  # installed, it has another name
from .measurement import PARTS, Selection

_LIMITS: Final = (10, 50)


def format_report(selections: Sequence[Selection]) -> str:
    """Format the figures of each repository and of all."""
    repositories = sorted({selection.repository for selection in selections})
    lines = [
        "repository       part    cases  recall             share              recall@10  recall@50  any@10  all found  seconds"
    ]
    for repository in [*repositories, ""]:
        rows = [selection for selection in selections if repository in ("", selection.repository)]
        lines += _format_rows(repository or "all", rows)
    return "\n".join(lines)


def _format_rows(repository: str, selections: Sequence[Selection]) -> Iterator[str]:
    for part in PARTS:
        rows = [selection for selection in selections if selection.part == part]
        if not rows:
            continue
        recalls = [row.compute_recall() for row in rows]
        at_limits = [sum(row.compute_recall(limit) for row in rows) / len(rows) for limit in _LIMITS]
        noticed = sum(row.compute_recall(_LIMITS[0]) > 0 for row in rows) / len(rows)
        complete = sum(recall == 1 for recall in recalls) / len(rows)
        seconds = sum(row.seconds for row in rows) / len(rows)
        yield (
            f"{repository:<16} {part:<7} {len(rows):>5}  {_format_mean(recalls)}  {_format_mean([row.share for row in rows])}"
            f"  {at_limits[0]:>9.3f}  {at_limits[1]:>9.3f}  {noticed:>6.3f}  {complete:>9.3f}  {seconds:>7.2f}"
        )


def _format_mean(values: Sequence[float]) -> str:
    mean = estimate(values)
    return f"{mean.mean:.3f} ({mean.low:.2f}-{mean.high:.2f})"
