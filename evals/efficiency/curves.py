"""Curves of recall by tokens spent, and the tokens for equal recall, with intervals over the questions.

Source of the intervals: B. Efron, Bootstrap Methods: Another Look at the Jackknife, 1979. All curves are resampled with the
same questions, so that differences and ratios are paired.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..statistics import CONFIDENCE, RESAMPLES  # noqa: TID252  # installed, it has another name
from .measuring import QuestionRecall
from .spending import BUDGETS

REFERENCES: Final = (8_000, 32_000)
"""Budgets at which the best grep curve sets the recall that others must reach."""

GREP: Final = "grep"
"""Prefix of the names of curves of agents that grep."""

_DIGITS = 9  # beyond them, means differ by rounding only

Values = NDArray[np.float64]


class Range(NamedTuple):
    """Value with its 95 % interval; infinite if a recall is not reached within the largest budget."""

    value: float
    low: float
    high: float


class RecallCost(NamedTuple):
    """Cost of a recall on one curve.

    Attributes:
        tokens: Tokens for the recall.
        ratio: Tokens of the best grep curve divided by these; above 1, this curve is cheaper.
    """

    tokens: Range
    ratio: Range


def collect_curves(questions: Sequence[QuestionRecall]) -> dict[str, Values]:
    """Return the recall of each curve, shape (questions, budgets)."""
    return {name: np.array([question.recall[name] for question in questions]) for name in questions[0].recall}


def compute_means(values: Values) -> list[Range]:
    """Return the mean of each column with its interval."""
    resampled = np.array([values[rows].mean(axis=0) for rows in _draw_samples(len(values))])
    return [_compute_range(float(mean), column) for mean, column in zip(values.mean(axis=0), resampled.T, strict=True)]


def find_best_grep(curves: Mapping[str, Values], budget: int) -> str:
    """Return the grep curve with the highest recall at a budget; the mean over all budgets breaks ties."""
    column = BUDGETS.index(budget)

    def rank_curve(name: str) -> tuple[float, float]:
        return round(float(curves[name][:, column].mean()), _DIGITS), float(curves[name].mean())

    return max((name for name in curves if name.startswith(GREP)), key=rank_curve)


def interpolate_tokens(recall: float, mean_recall: Sequence[float] | Values, budgets: Sequence[int] = BUDGETS) -> float:
    """Return the tokens for a recall, interpolated log-linearly between budgets; infinite if it is never reached.

    Args:
        recall: 0 to 1; if the smallest budget reaches it, the result is that budget.
        mean_recall: Mean recall at each budget.
        budgets: Budgets in rising order.
    """
    for number, (budget, reached) in enumerate(zip(budgets, mean_recall, strict=True)):
        if round(float(reached) - recall, _DIGITS) >= 0:
            if number == 0:
                return float(budget)
            below, smaller = float(mean_recall[number - 1]), budgets[number - 1]
            share = min(1.0, (recall - below) / (float(reached) - below))
            return float(smaller * (budget / smaller) ** share)
    return math.inf


def compare_at_recall(curves: Mapping[str, Values], recall_at: int) -> dict[str, RecallCost]:
    """Return the cost, on each curve, of the recall that the best grep curve has at a budget.

    Each bootstrap sample takes that recall from the same curve, so the intervals include its own variance.

    Raises:
        ValueError: The budget was not measured.
    """
    reference = find_best_grep(curves, recall_at)
    column = BUDGETS.index(recall_at)
    everything = np.arange(len(curves[reference]))
    drawn = [everything, *_draw_samples(len(everything))]
    wanted = [float(curves[reference][rows, column].mean()) for rows in drawn]
    tokens = {
        name: np.array(
            [interpolate_tokens(recall, values[rows].mean(axis=0)) for recall, rows in zip(wanted, drawn, strict=True)]
        )
        for name, values in curves.items()
    }
    return {
        name: RecallCost(
            _compute_range(spent[0], spent[1:]),
            _compute_range(tokens[reference][0] / spent[0], tokens[reference][1:] / spent[1:]),
        )
        for name, spent in tokens.items()
    }


def _draw_samples(n: int, seed: int = 0) -> list[NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    return [random.integers(0, n, n) for _ in range(RESAMPLES)]


def _compute_range(value: float, resampled: Values) -> Range:
    """Return a value with percentiles of its resampled values, without interpolation because some may be infinite."""
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(resampled, (tail, 100 - tail), method="nearest")
    return Range(float(value), float(low), float(high))
