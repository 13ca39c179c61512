"""Markdown report of a run and its comparison with an earlier one."""

import re
from collections.abc import Iterable

from .comparison import compare
from .runs import Run
from .tables import Table, build_comparison_tables, build_run_tables, describe_signal_changes, list_remarks

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def render(run: Run, baseline: Run | None = None) -> str:
    """Render a report of a run.

    Args:
        run: The run.
        baseline: Earlier run to compare with.

    Raises:
        InvalidQueryError: The runs have no question in common.
    """
    parts = [f"# {_escape_markdown(run.golden)}: {_escape_markdown(run.engine)} {run.version}", _describe_run(run)]
    parts += [f"> {_escape_markdown(remark)}" for remark in list_remarks(run)]
    parts += [format_table(table) for table in build_run_tables(run)]
    if baseline is not None:
        parts += _render_comparison(run, baseline)
    settings = (
        (name, ", ".join(value) if isinstance(value, tuple) else str(value)) for name, value in run.settings.items()
    )
    parts += ["## Settings", _format_grid(("", "value"), settings)]
    return "\n\n".join(parts) + "\n"


def _describe_run(run: Run) -> str:
    revision = f" at `{run.revision[:12]}`" if run.revision else ""
    place = f" about {_escape_markdown(run.repository)}{revision}" if run.repository else ""
    return f"{len(run.questions)} questions{place}, {run.created}. Intervals are of 95 %, by bootstrap."


def _render_comparison(run: Run, baseline: Run) -> Iterable[str]:
    comparison = compare(baseline, run)
    verdict = "worse" if comparison.is_regression else "no regression"
    name = f"{_escape_markdown(baseline.engine)} {baseline.version}".strip()
    yield f"## Against {name} of {baseline.created}: {verdict}"
    yield f"{comparison.shared} questions are in both runs; differences are paired."
    for sentence in describe_signal_changes(comparison):
        yield f"- {_escape_markdown(sentence)}"
    for table in build_comparison_tables(comparison):
        yield format_table(table, level=3)


def format_table(table: Table, level: int = 2) -> str:
    """Format a table below a heading."""
    return f"{'#' * level} {table.title}\n\n{_format_grid(table.header, table.rows)}"


def _format_grid(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(header)
    lines = [head, ["---"] * len(head), *([_escape_markdown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape_markdown(text: str) -> str:
    """Escape text for one line of Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
