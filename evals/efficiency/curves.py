"""Curves of recall by tokens spent, and how many tokens a recall takes, with intervals over the questions.

Source of the intervals: B. Efron, Bootstrap Methods: Another Look at the Jackknife, 1979. All curves are resampled with the
same questions, so that differences and ratios are paired.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..statistics import CONFIDENCE, RESAMPLES  # noqa: TID252  # installed, it has another name
from .measuring import Spent
from .spending import BUDGETS

REFERENCES: Final = (8_000, 32_000)
"""The budgets at which the best of those who grep sets the recall that the others are to reach."""

GREP: Final = "grep"
"""What the names of curves that grep begin with."""

_DIGITS = 9  # of a mean: beyond them is the error of adding up

Values = NDArray[np.float64]


class Range(NamedTuple):
    """A value with its interval of 95 %; infinite where a recall is not reached within the largest budget."""

    value: float
    low: float
    high: float


class Reached(NamedTuple):
    """What a recall costs on one curve.

    Attributes:
        tokens: That it takes.
        ratio: How many times as many the best curve that greps takes; above 1 this one is cheaper.
    """

    tokens: Range
    ratio: Range


def by_curve(questions: Sequence[Spent]) -> dict[str, Values]:
    """Return the recall of each curve, a row a question and a column a budget."""
    return {name: np.array([one.recall[name] for one in questions]) for name in questions[0].recall}


def means(values: Values) -> list[Range]:
    """Return the mean of each column with its interval."""
    resampled = np.array([values[rows].mean(axis=0) for rows in _samples(len(values))])
    return [_range(float(mean), column) for mean, column in zip(values.mean(axis=0), resampled.T, strict=True)]


def best_grep(curves: Mapping[str, Values], budget: int) -> str:
    """Return the curve of those who grep with the highest recall at a budget; of equals the one that is higher elsewhere."""
    column = BUDGETS.index(budget)

    def goodness(name: str) -> tuple[float, float]:
        return round(float(curves[name][:, column].mean()), _DIGITS), float(curves[name].mean())

    return max((name for name in curves if name.startswith(GREP)), key=goodness)


def tokens_for(recall: float, mean_recall: Sequence[float] | Values, budgets: Sequence[int] = BUDGETS) -> float:
    """Return how many tokens a recall takes: between two budgets along the logarithm, infinite if it is never reached.

    Args:
        recall: 0 to 1; one that the smallest budget reaches takes that budget.
        mean_recall: At each budget.
        budgets: In rising order.
    """
    for number, (budget, reached) in enumerate(zip(budgets, mean_recall, strict=True)):
        if round(float(reached) - recall, _DIGITS) >= 0:
            if number == 0:
                return float(budget)
            below, smaller = float(mean_recall[number - 1]), budgets[number - 1]
            share = min(1.0, (recall - below) / (float(reached) - below))
            return float(smaller * (budget / smaller) ** share)
    return math.inf


def equal_recall(curves: Mapping[str, Values], recall_at: int) -> dict[str, Reached]:
    """Return what each curve spends to reach the recall that the best of those who grep has at a budget.

    The recall to be reached is that of the same curve in every sample of questions, so its own chance is in the intervals.

    Raises:
        ValueError: The budget is none of those that were measured.
    """
    reference = best_grep(curves, recall_at)
    column = BUDGETS.index(recall_at)
    everything = np.arange(len(curves[reference]))
    drawn = [everything, *_samples(len(everything))]
    wanted = [float(curves[reference][rows, column].mean()) for rows in drawn]
    tokens = {
        name: np.array(
            [tokens_for(recall, values[rows].mean(axis=0)) for recall, rows in zip(wanted, drawn, strict=True)]
        )
        for name, values in curves.items()
    }
    return {
        name: Reached(
            _range(spent[0], spent[1:]), _range(tokens[reference][0] / spent[0], tokens[reference][1:] / spent[1:])
        )
        for name, spent in tokens.items()
    }


def _samples(n: int, seed: int = 0) -> list[NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    return [random.integers(0, n, n) for _ in range(RESAMPLES)]


def _range(value: float, resampled: Values) -> Range:
    """Return a value with the percentiles of its resampled values; without interpolation, as some may be infinite."""
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(resampled, (tail, 100 - tail), method="nearest")
    return Range(float(value), float(low), float(high))
