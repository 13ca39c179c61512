"""Markdown report of the measurements."""

import math
from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel, ConfigDict, Field

from ..report_markdown import format_table  # noqa: TID252  # installed, it has another name
from ..statistics import compute_difference  # noqa: TID252  # installed, it has another name
from ..tables import Table  # noqa: TID252  # installed, it has another name
from .curves import REFERENCES, Range, Values, collect_curves, compare_at_recall, compute_means, find_best_grep
from .measuring import QuestionRecall
from .spending import BUDGETS


class BenchmarkRecord(BaseModel):
    """Stored run of the benchmark.

    Attributes:
        version: Version of CodeRAG.
        questions: All measured questions.
        left_out: Number of answerable questions whose answers are whole files or stale.
    """

    model_config = ConfigDict(extra="forbid")

    version: str
    questions: list[QuestionRecall] = Field(default_factory=list)
    left_out: int = 0


def format_report(record: BenchmarkRecord) -> str:
    """Format a report of a run with at least one question."""
    curves = collect_curves(record.questions)
    about = (
        f"{len(record.questions)} questions, CodeRAG {record.version}; {record.left_out} without lines were left out."
    )
    tables = [
        _build_budget_table("Share of the wanted lines that was seen, by tokens spent", curves, lambda values: values),
        _build_budget_table(
            "Share of the questions with all lines seen", curves, lambda values: (values >= 1).astype(float)
        ),
        _build_gain_table(curves),
        *(_build_equal_recall_table(curves, budget) for budget in REFERENCES),
    ]
    return "\n\n".join([about, *(format_table(table) for table in tables)]) + "\n"


def _build_budget_table(title: str, curves: Mapping[str, Values], transform: Callable[[Values], Values]) -> Table:
    rows = [[name, *_format_cells(compute_means(transform(values)))] for name, values in curves.items()]
    return Table(title, ["", *map(_format_tokens, BUDGETS)], rows)


def _format_cells(ranges: list[Range]) -> Iterable[str]:
    for mean, low, high in ranges:
        yield f"{mean:.2f} ({low:.2f}-{high:.2f})"


def _build_gain_table(curves: Mapping[str, Values]) -> Table:
    """Return a table of CodeRAG's paired gain over the best grep curve at each budget."""
    rows = []
    for name, values in curves.items():
        if name.startswith("coderag"):
            cells = []
            for column, budget in enumerate(BUDGETS):
                best = curves[find_best_grep(curves, budget)][:, column]
                gap = compute_difference(best.tolist(), values[:, column].tolist())
                cells.append(f"{gap.mean:+.2f} ({gap.low:+.2f} to {gap.high:+.2f})")
            rows.append([name, *cells])
    return Table("Above the best that greps at the same budget", ["", *map(_format_tokens, BUDGETS)], rows)


def _build_equal_recall_table(curves: Mapping[str, Values], budget: int) -> Table:
    reference = find_best_grep(curves, budget)
    recall = curves[reference][:, BUDGETS.index(budget)].mean()
    rows = []
    for name, reached in compare_at_recall(curves, budget).items():
        tokens, ratio = reached
        rows.append([
            name,
            f"{_format_tokens(tokens.value)} ({_format_tokens(tokens.low)} to {_format_tokens(tokens.high)})",
            f"{ratio.value:.1f} ({ratio.low:.1f} to {ratio.high:.1f})" if ratio.value else "-",
        ])  # fmt: skip
    title = f"Tokens for a recall of {recall:.2f}, which '{reference}' has at {_format_tokens(budget)}"
    return Table(title, ["", "tokens", f"times fewer than '{reference}'"], rows)


def _format_tokens(number: float) -> str:
    return f"{number:,.0f}" if math.isfinite(number) else f"over {BUDGETS[-1]:,}"
