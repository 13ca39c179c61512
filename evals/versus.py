"""Several engines side by side: one table a metric, by project and by language, with paired intervals."""

from collections.abc import Iterator, Mapping, Sequence

from .runs import QuestionResult, Run
from .statistics import difference
from .tables import Table, interval


def versus_table(metric: str, runs: Mapping[str, Run]) -> Table:
    """Return how good each engine is by a metric, and how far the first one is above each other.

    Args:
        metric: One that all engines have.
        runs: By engine, the same questions in all, each with its repository.
    """
    first, *others = runs
    header = ["", "n", *runs, *(f"{first} - {other}" for other in others)]
    rows = [[name, *_cells(metric, runs, chosen)] for name, chosen in _groups(runs[first])]
    return Table(metric, header, [row for row in rows if row[1] != "0"])


_Key = tuple[str, str]
"""Repository and id of a question."""


def _groups(run: Run) -> Iterator[tuple[str, list[QuestionResult]]]:
    repositories = run.grouped("repository")
    yield from repositories.items()
    for language, questions in run.grouped("language").items():
        if questions not in repositories.values():  # else the repository's row says it
            yield f"all {language}", questions
    yield "all", list(run.questions)


def _cells(metric: str, runs: Mapping[str, Run], chosen: Sequence[QuestionResult]) -> list[str]:
    values = [_values(metric, run) for run in runs.values()]
    keys = [(question.repository, question.id) for question in chosen]
    shared = [key for key in keys if all(key in known for known in values)]
    if not shared:
        return ["0"]
    first, *others = ([known[key] for key in shared] for known in values)
    means = [f"{sum(known) / len(known):.3f}" for known in (first, *others)]
    return [str(len(shared)), *means, *(_difference(other, first) for other in others)]


def _values(metric: str, run: Run) -> dict[_Key, float]:
    measured = (question for question in run.questions if metric in question.metrics)
    return {(question.repository, question.id): question.metrics[metric] for question in measured}


def _difference(other: Sequence[float], first: Sequence[float]) -> str:
    gap = difference(other, first)
    return f"{gap.mean:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})"


def overview_table(runs: Mapping[str, Run], metrics: Sequence[str]) -> Table:
    """Return each engine's means over all questions with their intervals, and its median time."""
    rows = []
    for engine, run in runs.items():
        overall = run.overall()
        cells = [interval(overall[metric]) if metric in overall else "-" for metric in metrics]
        rows.append([f"{engine} {run.version}", *cells, f"{run.latency()['ms_p50']:.1f}"])
    return Table("All questions", ["", *metrics, "ms p50"], rows)
