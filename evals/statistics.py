"""How sure a mean is, and whether one run is better than another: the bootstrap.

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
class Estimate:
    """A mean with its interval of 95 %.

    Attributes:
        n: Number of values.
    """

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How much the second of two paired samples is above the first.

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
        """Whether the whole interval is above zero."""
        return self.low > 0

    @property
    def is_loss(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.high < 0


def estimate(values: Sequence[float], seed: int = 0) -> Estimate:
    """Return the mean of at least one value with its interval: percentiles of the means of samples with replacement.

    Raises:
        ValueError: There are no values.
    """
    if not values:
        raise ValueError("no values")
    known = np.asarray(values, np.float64)
    low, high = _interval(known, seed, CONFIDENCE)
    return Estimate(float(known.mean()), low, high, len(known))


def difference(
    before: Sequence[float], after: Sequence[float], seed: int = 0, *, confidence: float = CONFIDENCE
) -> Difference:
    """Return how much the values of `after` are above those of `before`, pair by pair.

    Args:
        before, after: Values of the same questions in the same order, at least one.
        seed: Of the resampling.
        confidence: Share of the means of samples that the interval holds, 0 to 1.

    Raises:
        ValueError: There are no pairs, or not as many values in both.
    """
    if len(before) != len(after) or not before:
        raise ValueError(f"{len(before)} and {len(after)} values make no pairs")
    gaps = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    low, high = _interval(gaps, seed, confidence)
    return Difference(float(gaps.mean()), low, high, len(gaps), int((gaps > 0).sum()), int((gaps < 0).sum()))


def _interval(values: NDArray[np.float64], seed: int, confidence: float) -> tuple[float, float]:
    if values.min() == values.max():  # any sample has this mean
        return float(values[0]), float(values[0])
    random = np.random.default_rng(seed)
    n = len(values)
    means = [values[random.integers(0, n, n)].mean() for _ in range(RESAMPLES)]
    tail = 50 * (1 - confidence)
    low, high = np.percentile(means, (tail, 100 - tail))
    return float(low), float(high)
