"""Tables of several engines side by side, by project and language, with paired intervals."""

from collections.abc import Iterator, Mapping, Sequence

from .runs import QuestionResult, Run
from .statistics import compute_difference
from .tables import Table, format_estimate


def build_versus_table(metric: str, runs: Mapping[str, Run]) -> Table:
    """Return a table of a metric's mean for each engine, and of the first engine's paired differences.

    Args:
        metric: A metric that all engines have.
        runs: Runs by engine, all over the same questions, each question with its repository.
    """
    first, *rest = runs
    header = ["", "n", *runs, *(f"{first} - {other}" for other in rest)]
    rows = [[name, *_format_cells(metric, runs, chosen)] for name, chosen in _list_groups(runs[first])]
    return Table(metric, header, [row for row in rows if row[1] != "0"])


_Key = tuple[str, str]
"""Repository and id of a question."""


def _list_groups(run: Run) -> Iterator[tuple[str, list[QuestionResult]]]:
    repositories = run.group_questions("repository")
    yield from repositories.items()
    for language, questions in run.group_questions("language").items():
        if questions not in repositories.values():  # otherwise it repeats the repository's row
            yield f"all {language}", questions
    yield "all", list(run.questions)


def _format_cells(metric: str, runs: Mapping[str, Run], chosen: Sequence[QuestionResult]) -> list[str]:
    values = [_get_values(metric, run) for run in runs.values()]
    keys = [(question.repository, question.id) for question in chosen]
    shared = [key for key in keys if all(key in known for known in values)]
    if not shared:
        return ["0"]
    first, *rest = ([known[key] for key in shared] for known in values)
    means = [f"{sum(known) / len(known):.3f}" for known in (first, *rest)]
    return [str(len(shared)), *means, *(_format_difference(other, first) for other in rest)]


def _get_values(metric: str, run: Run) -> dict[_Key, float]:
    measured = (question for question in run.questions if metric in question.metrics)
    return {(question.repository, question.id): question.metrics[metric] for question in measured}


def _format_difference(other: Sequence[float], first: Sequence[float]) -> str:
    gap = compute_difference(other, first)
    return f"{gap.mean:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})"


def build_overview_table(runs: Mapping[str, Run], metrics: Sequence[str]) -> Table:
    """Return a table of each engine's means over all questions, and its median time."""
    rows = []
    for engine, run in runs.items():
        overall = run.compute_overall()
        cells = [format_estimate(overall[metric]) if metric in overall else "-" for metric in metrics]
        rows.append([f"{engine} {run.version}", *cells, f"{run.compute_latency()['ms_p50']:.1f}"])
    return Table("All questions", ["", *metrics, "ms p50"], rows)
