"""Runs and comparisons as tables of text, for the terminal and the reports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from .comparison import Comparison, MetricChange, QuestionChange
from .runs import GROUPINGS, Grouping, Run, SettingValue
from .statistics import MeanEstimate

_MAIN_METRICS: Final = ("hit@1", "hit@5", "function_hit@5", "mrr", "ndcg@", "coverage@")
"""Prefixes of the metrics that fit into a table by group."""

_MAX_LISTED_QUESTIONS = 10
_TITLES: Final[dict[Grouping, str]] = {
    "intent": "By intent",
    "language": "By language",
    "tag": "By tag",
    "repository": "By repository",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Table of text. The first column holds names, the others numbers.

    Attributes:
        title: Empty for none.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def build_run_tables(run: Run) -> list[Table]:
    """Return all tables of a run: overall, by group, verdicts."""
    grouped = (_build_group_table(run, by) for by in GROUPINGS)
    return [_build_overall_table(run), *(table for table in grouped if table), *_build_verdict_tables(run)]


def build_comparison_tables(comparison: Comparison) -> list[Table]:
    """Return all tables of a comparison: overall changes, significant changes of groups, settings, and changed questions."""
    sure = [change for change in comparison.groups if change.difference.is_loss or change.difference.is_gain]
    before, after = comparison.milliseconds
    time = ("ms_p50", f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}", "", str(comparison.shared))
    tables = [
        Table(
            "Overall",
            _CHANGE_HEADER,
            [*(_build_change_row(change.metric, change) for change in comparison.changes), time],
        ),
        Table(
            "Surely changed",
            _CHANGE_HEADER,
            [_build_change_row(f"{change.where}: {change.metric}", change) for change in sure],
        ),
        Table("Settings that differ", ("", "before", "after"), list(_build_setting_rows(comparison))),
        Table("Questions that got worse", _MOVED_HEADER, _build_question_rows(comparison.worse)),
        Table("Questions that got better", _MOVED_HEADER, _build_question_rows(comparison.better)),
    ]
    return [table for table in tables if table.rows]


def describe_signal_changes(comparison: Comparison) -> list[str]:
    """Return a sentence for each channel and signal that vanished or appeared."""
    gone = [
        f"{change.kind} {change.name} is gone: before, {change.share:.0%} of the results had it"
        for change in comparison.vanished
    ]
    new = [
        f"{change.kind} {change.name} is new: now {change.share:.0%} of the results have it"
        for change in comparison.appeared
    ]
    return gone + new


def list_remarks(run: Run) -> list[str]:
    """Return remarks on a run's figures: the answers and questions that were left out."""
    lines = []
    if run.stale:
        examples = "; ".join(
            f"{answer.question}: {answer.target.location}: {answer.reason}" for answer in run.stale[:3]
        )
        more = f"; and {len(run.stale) - 3} more" if len(run.stale) > 3 else ""
        lines.append(f"stale answers, which the repository does not have: {len(run.stale)} ({examples}{more})")
    if run.skipped:
        lines.append(f"questions without any other answer, left out: {len(run.skipped)} ({', '.join(run.skipped[:5])})")
    return lines


def format_estimate(estimate: MeanEstimate) -> str:
    """Format a mean with its interval."""
    return f"{estimate.mean:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def list_main_metrics(run: Run) -> list[str]:
    """Return the names of the run's metrics for tables by group."""
    names = run.metric_names
    return [
        name
        for start in _MAIN_METRICS
        for name in names
        if name == start or (start[-1] == "@" and name.startswith(start))
    ]


_CHANGE_HEADER = ("", "before", "after", "change", "95 %", "n")
_MOVED_HEADER = ("", "nDCG", "rank", "question")


def _build_overall_table(run: Run) -> Table:
    rows = [(name, format_estimate(estimate), str(estimate.n)) for name, estimate in run.compute_overall().items()]
    times = [(name, f"{value:.1f}", str(len(run.questions))) for name, value in run.compute_latency().items()]
    return Table("Overall", ("", "mean (95 %)", "n"), [*rows, *times])


def _build_group_table(run: Run, by: Grouping) -> Table | None:
    groups = run.compute_by_group(by)
    if len(groups) < 2:
        return None
    names = list_main_metrics(run)
    rows = [
        (
            group,
            str(len(run.group_questions(by)[group])),
            *(f"{means[name].mean:.3f}" if name in means else "-" for name in names),
        )
        for group, means in groups.items()
    ]
    return Table(_TITLES[by], ("", "n", *names), rows)


def _build_verdict_tables(run: Run) -> list[Table]:
    if all(question.evidence is None for question in run.questions):
        return []
    rows = [(verdict.replace("_", " "), str(yes), str(no)) for verdict, (yes, no) in run.count_verdicts().items()]
    return [Table("Verdicts", ("", "answerable", "unanswerable"), rows)]


def _build_change_row(name: str, change: MetricChange) -> tuple[str, ...]:
    gap = change.difference
    sides = f"{gap.low:+.3f} to {gap.high:+.3f}"
    return name, f"{change.before:.3f}", f"{change.after:.3f}", f"{gap.mean:+.3f}", sides, str(gap.n)


def _build_setting_rows(comparison: Comparison) -> Iterable[tuple[str, str, str]]:
    for name, (old, new) in comparison.settings.items():
        yield name, _format_setting(old), _format_setting(new)


def _format_setting(value: SettingValue) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _build_question_rows(moved: Sequence[QuestionChange]) -> list[tuple[str, ...]]:
    return [
        (
            entry.question.id,
            f"{entry.change:+.3f}",
            f"{entry.rank_before or '-'} to {entry.rank_after or '-'}",
            entry.question.question,
        )
        for entry in moved[:_MAX_LISTED_QUESTIONS]
    ]
