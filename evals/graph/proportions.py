"""Proportions with confidence intervals."""

import math
from typing import NamedTuple

_Z_95 = 1.959964
"""Quantile of the normal distribution for a two-sided interval of 95 %."""


class Proportion(NamedTuple):
    """A part of a total."""

    part: int
    total: int

    @property
    def value(self) -> float | None:
        """Quotient between 0 and 1; None if the total is 0."""
        return self.part / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson score interval of 95 %; None if the total is 0.

        Source: Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference.
        """
        if not self.total:
            return None
        share, square = self.part / self.total, _Z_95 * _Z_95
        centre = (share + square / (2 * self.total)) / (1 + square / self.total)
        spread = math.sqrt(share * (1 - share) / self.total + square / (4 * self.total**2))
        half = _Z_95 * spread / (1 + square / self.total)
        return max(0.0, centre - half), min(1.0, centre + half)

    def __str__(self) -> str:
        if self.interval is None:
            return "none"
        low, high = self.interval
        return f"{self.part / self.total:.3f} ({low:.3f} to {high:.3f})  {self.part}/{self.total}"
