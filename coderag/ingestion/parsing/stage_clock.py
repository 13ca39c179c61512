"""How long each stage of indexing takes, in this process."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class StageClock:
    """Adds up seconds of wall clock by stage; a stage inside another is not counted in the outer one.

    Example:
        >>> with stages.measure("parse"):
        ...     tree = parser.parse(data)
    """

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = 0.0  # seconds of stages that ended inside the current one

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Count the time until the end of the block to a stage."""
        outer, self._inner = self._inner, 0.0
        started = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - started
            self._seconds[stage] += elapsed - self._inner
            self._inner = outer + elapsed

    def take(self) -> dict[str, float]:
        """Return the seconds since the last call, by stage."""
        seconds = dict(self._seconds)
        self._seconds.clear()
        return seconds


stages = StageClock()
"""The clock of this process."""
