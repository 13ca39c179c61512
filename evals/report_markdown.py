"""A run, and how it compares with an earlier one, as Markdown."""

import re
from collections.abc import Iterable

from .comparison import compare
from .runs import Run
from .tables import Table, comparison_tables, remarks, run_tables, silence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def render(run: Run, baseline: Run | None = None) -> str:
    """Return a report of a run.

    Args:
        run: The run.
        baseline: An earlier one to compare it with.

    Raises:
        InvalidQueryError: The two have no question in common.
    """
    parts = [f"# {_escaped(run.golden)}: {_escaped(run.engine)} {run.version}", _about(run)]
    parts += [f"> {_escaped(remark)}" for remark in remarks(run)]
    parts += [table_text(table) for table in run_tables(run)]
    if baseline is not None:
        parts += _compared(run, baseline)
    settings = (
        (name, ", ".join(value) if isinstance(value, tuple) else str(value)) for name, value in run.settings.items()
    )
    parts += ["## Settings", _grid(("", "value"), settings)]
    return "\n\n".join(parts) + "\n"


def _about(run: Run) -> str:
    revision = f" at `{run.revision[:12]}`" if run.revision else ""
    place = f" about {_escaped(run.repository)}{revision}" if run.repository else ""
    return f"{len(run.questions)} questions{place}, {run.created}. Intervals are of 95 %, by bootstrap."


def _compared(run: Run, baseline: Run) -> Iterable[str]:
    comparison = compare(baseline, run)
    verdict = "worse" if comparison.is_regression else "no regression"
    name = f"{_escaped(baseline.engine)} {baseline.version}".strip()
    yield f"## Against {name} of {baseline.created}: {verdict}"
    yield f"{comparison.shared} questions are in both runs; differences are paired."
    for sentence in silence(comparison):
        yield f"- {_escaped(sentence)}"
    for table in comparison_tables(comparison):
        yield table_text(table, level=3)


def table_text(table: Table, level: int = 2) -> str:
    """Return a table below a heading."""
    return f"{'#' * level} {table.title}\n\n{_grid(table.header, table.rows)}"


def _grid(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(header)
    lines = [head, ["---"] * len(head), *([_escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line: questions may hold anything."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
