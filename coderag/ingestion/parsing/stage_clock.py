"""Wall-clock time of each stage of indexing in this process."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class StageClock:
    """Sums wall-clock seconds by stage. Time of a nested stage does not count towards the outer one.

    Example:
        >>> with stages.measure("parse"):
        ...     tree = parser.parse(data)
    """

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = 0.0  # seconds of nested stages of the current one

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Measure the time of the block and add it to a stage."""
        outer, self._inner = self._inner, 0.0
        started = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - started
            self._seconds[stage] += elapsed - self._inner
            self._inner = outer + elapsed

    def take(self) -> dict[str, float]:
        """Return and reset the seconds by stage."""
        seconds = dict(self._seconds)
        self._seconds.clear()
        return seconds


stages = StageClock()
"""Clock of this process."""
