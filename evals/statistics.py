"""Bootstrap intervals of means and of paired differences.

Source: B. Efron, Bootstrap Methods: Another Look at the Jackknife, 1979.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

RESAMPLES: Final = 2000
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """Mean with its 95 % interval.

    Attributes:
        n: Number of values.
    """

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean difference of two paired samples, second minus first.

    Attributes:
        mean, low, high: The mean difference with its interval.
        n: Number of pairs.
        better, worse: Pairs whose second value is higher, and lower.
    """

    mean: float
    low: float
    high: float
    n: int
    better: int
    worse: int

    @property
    def is_gain(self) -> bool:
        """True if the whole interval is above zero."""
        return self.low > 0

    @property
    def is_loss(self) -> bool:
        """True if the whole interval is below zero."""
        return self.high < 0


def estimate(values: Sequence[float], seed: int = 0) -> MeanEstimate:
    """Return the mean of at least one value with its percentile bootstrap interval.

    Raises:
        ValueError: There are no values.
    """
    if not values:
        raise ValueError("no values")
    known = np.asarray(values, np.float64)
    low, high = _compute_interval(known, seed, CONFIDENCE)
    return MeanEstimate(float(known.mean()), low, high, len(known))


def compute_difference(
    before: Sequence[float], after: Sequence[float], seed: int = 0, *, confidence: float = CONFIDENCE
) -> Difference:
    """Return the mean paired difference, `after` minus `before`, with its bootstrap interval.

    Args:
        before, after: Values of the same questions in the same order, at least one.
        seed: Seed of the resampling.
        confidence: Confidence level of the interval, 0 to 1.

    Raises:
        ValueError: There are no pairs, or the lengths differ.
    """
    if len(before) != len(after) or not before:
        raise ValueError(f"{len(before)} and {len(after)} values make no pairs")
    gaps = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    low, high = _compute_interval(gaps, seed, confidence)
    return Difference(float(gaps.mean()), low, high, len(gaps), int((gaps > 0).sum()), int((gaps < 0).sum()))


def _compute_interval(values: NDArray[np.float64], seed: int, confidence: float) -> tuple[float, float]:
    if values.min() == values.max():  # every sample has this mean
        return float(values[0]), float(values[0])
    random = np.random.default_rng(seed)
    n = len(values)
    means = [values[random.integers(0, n, n)].mean() for _ in range(RESAMPLES)]
    tail = 50 * (1 - confidence)
    low, high = np.percentile(means, (tail, 100 - tail))
    return float(low), float(high)
