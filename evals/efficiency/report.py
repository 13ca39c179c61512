"""What was measured as Markdown."""

import math
from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel, ConfigDict, Field

from ..report_markdown import table_text  # noqa: TID252  # installed, it has another name
from ..statistics import difference  # noqa: TID252  # installed, it has another name
from ..tables import Table  # noqa: TID252  # installed, it has another name
from .curves import REFERENCES, Range, Values, best_grep, by_curve, equal_recall, means
from .measuring import Spent
from .spending import BUDGETS


class Record(BaseModel):
    """A run of the benchmark, as it is kept.

    Attributes:
        version: Of CodeRAG.
        questions: All that were measured.
        left_out: Answerable questions without lines among the answers that the repository has.
    """

    model_config = ConfigDict(extra="forbid")

    version: str
    questions: list[Spent] = Field(default_factory=list)
    left_out: int = 0


def markdown(record: Record) -> str:
    """Return a report of a run with at least one question."""
    curves = by_curve(record.questions)
    about = (
        f"{len(record.questions)} questions, CodeRAG {record.version}; {record.left_out} without lines were left out."
    )
    tables = [
        _by_budget("Share of the wanted lines that was seen, by tokens spent", curves, lambda values: values),
        _by_budget("Share of the questions with all lines seen", curves, lambda values: (values >= 1).astype(float)),
        _gain_table(curves),
        *(_equal_table(curves, budget) for budget in REFERENCES),
    ]
    return "\n\n".join([about, *(table_text(table) for table in tables)]) + "\n"


def _by_budget(title: str, curves: Mapping[str, Values], of: Callable[[Values], Values]) -> Table:
    rows = [[name, *_cells(means(of(values)))] for name, values in curves.items()]
    return Table(title, ["", *map(_tokens, BUDGETS)], rows)


def _cells(ranges: list[Range]) -> Iterable[str]:
    for mean, low, high in ranges:
        yield f"{mean:.2f} ({low:.2f}-{high:.2f})"


def _gain_table(curves: Mapping[str, Values]) -> Table:
    """Return how far CodeRAG is above the best of those who grep at each budget, question by question."""
    rows = []
    for name, values in curves.items():
        if name.startswith("coderag"):
            cells = []
            for column, budget in enumerate(BUDGETS):
                best = curves[best_grep(curves, budget)][:, column]
                gap = difference(best.tolist(), values[:, column].tolist())
                cells.append(f"{gap.mean:+.2f} ({gap.low:+.2f} to {gap.high:+.2f})")
            rows.append([name, *cells])
    return Table("Above the best that greps at the same budget", ["", *map(_tokens, BUDGETS)], rows)


def _equal_table(curves: Mapping[str, Values], budget: int) -> Table:
    reference = best_grep(curves, budget)
    recall = curves[reference][:, BUDGETS.index(budget)].mean()
    rows = []
    for name, reached in equal_recall(curves, budget).items():
        tokens, ratio = reached
        rows.append([
            name,
            f"{_tokens(tokens.value)} ({_tokens(tokens.low)} to {_tokens(tokens.high)})",
            f"{ratio.value:.1f} ({ratio.low:.1f} to {ratio.high:.1f})" if ratio.value else "-",
        ])  # fmt: skip
    title = f"Tokens for a recall of {recall:.2f}, which '{reference}' has at {_tokens(budget)}"
    return Table(title, ["", "tokens", f"times fewer than '{reference}'"], rows)


def _tokens(number: float) -> str:
    return f"{number:,.0f}" if math.isfinite(number) else f"over {BUDGETS[-1]:,}"
