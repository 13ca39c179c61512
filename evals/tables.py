"""Runs and comparisons as tables of words, which the terminal and the reports show in their own ways."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from .comparison import Change, Comparison, Moved
from .runs import GROUPINGS, Grouping, Run, SettingValue
from .statistics import Estimate

_MAIN: Final = ("hit@1", "hit@5", "function_hit@5", "mrr", "ndcg@", "coverage@")
"""The beginnings of the metrics that a table by group has room for."""

_LISTED = 10
_TITLES: Final[dict[Grouping, str]] = {
    "intent": "By intent",
    "language": "By language",
    "tag": "By tag",
    "repository": "By repository",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first column holds names, the others numbers.

    Attributes:
        title: Empty for none.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def run_tables(run: Run) -> list[Table]:
    """Return all tables of a run: overall, by group, verdicts."""
    grouped = (_group_table(run, by) for by in GROUPINGS)
    return [_overall_table(run), *(table for table in grouped if table), *_calibration_tables(run)]


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return all tables of a comparison: what changed overall, what surely changed in groups, and which questions moved."""
    sure = [change for change in comparison.groups if change.difference.is_loss or change.difference.is_gain]
    before, after = comparison.milliseconds
    time = ("ms_p50", f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}", "", str(comparison.shared))
    tables = [
        Table("Overall", _CHANGE_HEADER, [*(_change_row(one.metric, one) for one in comparison.changes), time]),
        Table("Surely changed", _CHANGE_HEADER, [_change_row(f"{one.where}: {one.metric}", one) for one in sure]),
        Table("Settings that differ", ("", "before", "after"), list(_setting_rows(comparison))),
        Table("Questions that got worse", _MOVED_HEADER, _moved_rows(comparison.worse)),
        Table("Questions that got better", _MOVED_HEADER, _moved_rows(comparison.better)),
    ]
    return [table for table in tables if table.rows]


def silence(comparison: Comparison) -> list[str]:
    """Return a sentence for each channel and signal that is gone, or new."""
    gone = [
        f"{one.kind} {one.name} is gone: before, {one.share:.0%} of the results had it" for one in comparison.vanished
    ]
    new = [f"{one.kind} {one.name} is new: now {one.share:.0%} of the results have it" for one in comparison.appeared]
    return gone + new


def remarks(run: Run) -> list[str]:
    """Return what a reader of a run's figures should know: which answers were left out."""
    told = []
    if run.stale:
        shown = "; ".join(f"{one.question}: {one.target.location}: {one.reason}" for one in run.stale[:3])
        more = f"; and {len(run.stale) - 3} more" if len(run.stale) > 3 else ""
        told.append(f"stale answers, which the repository does not have: {len(run.stale)} ({shown}{more})")
    if run.skipped:
        told.append(f"questions without any other answer, left out: {len(run.skipped)} ({', '.join(run.skipped[:5])})")
    return told


def interval(one: Estimate) -> str:
    """Return a mean with its interval as text."""
    return f"{one.mean:.3f} ({one.low:.3f} to {one.high:.3f})"


def main_metrics(run: Run) -> list[str]:
    """Return the names of those metrics of a run that tables by group show."""
    names = run.metric_names
    return [name for start in _MAIN for name in names if name == start or (start[-1] == "@" and name.startswith(start))]


_CHANGE_HEADER = ("", "before", "after", "change", "95 %", "n")
_MOVED_HEADER = ("", "nDCG", "rank", "question")


def _overall_table(run: Run) -> Table:
    rows = [(name, interval(one), str(one.n)) for name, one in run.overall().items()]
    times = [(name, f"{value:.1f}", str(len(run.questions))) for name, value in run.latency().items()]
    return Table("Overall", ("", "mean (95 %)", "n"), [*rows, *times])


def _group_table(run: Run, by: Grouping) -> Table | None:
    groups = run.by(by)
    if len(groups) < 2:
        return None
    names = main_metrics(run)
    rows = [
        (
            group,
            str(len(run.grouped(by)[group])),
            *(f"{means[name].mean:.3f}" if name in means else "-" for name in names),
        )
        for group, means in groups.items()
    ]
    return Table(_TITLES[by], ("", "n", *names), rows)


def _calibration_tables(run: Run) -> list[Table]:
    if all(question.evidence is None for question in run.questions):
        return []
    rows = [(verdict.replace("_", " "), str(yes), str(no)) for verdict, (yes, no) in run.calibration().items()]
    return [Table("Verdicts", ("", "answerable", "unanswerable"), rows)]


def _change_row(name: str, change: Change) -> tuple[str, ...]:
    gap = change.difference
    sides = f"{gap.low:+.3f} to {gap.high:+.3f}"
    return name, f"{change.before:.3f}", f"{change.after:.3f}", f"{gap.mean:+.3f}", sides, str(gap.n)


def _setting_rows(comparison: Comparison) -> Iterable[tuple[str, str, str]]:
    for name, (old, new) in comparison.settings.items():
        yield name, _value(old), _value(new)


def _value(value: SettingValue) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _moved_rows(moved: Sequence[Moved]) -> list[tuple[str, ...]]:
    return [
        (
            one.question.id,
            f"{one.change:+.3f}",
            f"{one.rank_before or '-'} to {one.rank_after or '-'}",
            one.question.question,
        )
        for one in moved[:_LISTED]
    ]
