"""Report of the trial: means of each arm with intervals over tasks, and paired differences."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from evals.report_markdown import format_table
from evals.statistics import Difference, MeanEstimate, compute_difference, estimate
from evals.tables import Table

from .scoring import METRICS, SessionScore
from .toolsets import ARMS

ValuesByTask = Mapping[str, float]
"""Value of a metric for each task, the mean over sessions with the same task and arm."""


def collect_values(scores: Iterable[SessionScore], metric: str) -> dict[str, ValuesByTask]:
    """Return the values of a metric by arm and task."""
    values: dict[str, dict[str, list[float]]] = {arm: defaultdict(list) for arm in ARMS}
    for score in scores:
        if metric in score.metrics:
            values[score.arm][score.task].append(score.metrics[metric])
    return {arm: {task: fmean(known) for task, known in by_task.items()} for arm, by_task in values.items()}


def build_report(scores: Sequence[SessionScore]) -> dict[str, Any]:
    """Build the report as JSON: by metric each arm's mean, and the paired difference; then every session."""
    metrics: dict[str, Any] = {}
    for metric in METRICS:
        values = collect_values(scores, metric)
        if not any(values.values()):
            continue
        pair = _compare(values)
        metrics[metric] = {
            "arms": {arm: _to_json(estimate(list(known.values()))) for arm, known in values.items() if known},
            "difference": _to_json(pair) if pair else None,
        }
    sessions = [
        {"session": score.session, "task": score.task, "kind": score.kind, "repository": score.repository,
         "arm": score.arm, "agent": score.agent, **score.metrics}
        for score in scores
    ]  # fmt: skip
    return {"metrics": metrics, "sessions": sessions}


def format_report(scores: Sequence[SessionScore], remarks: Sequence[str] = ()) -> str:
    """Format the tables as Markdown: each arm, pairs of the same task, kinds of question."""
    tables = [_build_arm_table(scores), _build_pair_table(scores), _build_kind_table(scores)]
    agents = ", ".join(sorted({score.agent or "unnamed" for score in scores}))
    return "\n\n".join(
        [f"{len(scores)} sessions of: {agents}.", *(format_table(table) for table in tables if table.rows), *remarks]
    )


def _build_arm_table(scores: Sequence[SessionScore]) -> Table:
    rows = []
    for metric, title in METRICS.items():
        values = collect_values(scores, metric)
        if any(values.values()):
            rows.append([title, *(_format_arm(values[arm]) for arm in ARMS)])
    return Table("Means over tasks (95 %)", ["", *ARMS], rows)


def _build_pair_table(scores: Sequence[SessionScore]) -> Table:
    rows = []
    for metric, title in METRICS.items():
        values = collect_values(scores, metric)
        pair = _compare(values)
        if pair:
            first, second = ([values[arm][task] for task in _list_shared(values)] for arm in ARMS)
            gap = f"{_format_gap(pair.mean)} ({_format_gap(pair.low)} to {_format_gap(pair.high)})"
            rows.append([title, _format(fmean(first)), _format(fmean(second)), gap, str(pair.n)])
    return Table("Tasks that both arms have", ["", *ARMS, f"{' - '.join(ARMS)} (95 %)", "tasks"], rows)


def _build_kind_table(scores: Sequence[SessionScore]) -> Table:
    rows = []
    for kind in sorted({score.kind for score in scores}):
        chosen = [score for score in scores if score.kind == kind]
        cells = []
        for metric in ("all_places", "calls", "received"):
            values = collect_values(chosen, metric)
            cells += [_format(fmean(values[arm].values())) if values[arm] else "-" for arm in ARMS]
        rows.append([kind, str(len({score.task for score in chosen})), *cells])
    header = [f"{METRICS[metric]}, {arm}" for metric in ("all_places", "calls", "received") for arm in ARMS]
    return Table("By kind of question", ["", "tasks", *header], rows)


def _compare(values: Mapping[str, ValuesByTask]) -> Difference | None:
    """Return the paired difference, first arm minus second."""
    shared = _list_shared(values)
    first, second = ([values[arm][task] for task in shared] for arm in ARMS)
    return compute_difference(second, first) if shared else None


def _list_shared(values: Mapping[str, ValuesByTask]) -> list[str]:
    first, second = (values[arm] for arm in ARMS)
    return [task for task in first if task in second]


def _format_arm(values: ValuesByTask) -> str:
    if not values:
        return "-"
    mean = estimate(list(values.values()))
    return f"{_format(mean.mean)} ({_format(mean.low)} to {_format(mean.high)}), n {mean.n}"


def _format(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def _format_gap(value: float) -> str:
    return ("+" if value > 0 else "") + _format(value)


def _to_json(figure: MeanEstimate | Difference) -> dict[str, float]:
    return {"mean": figure.mean, "low": figure.low, "high": figure.high, "n": figure.n}
