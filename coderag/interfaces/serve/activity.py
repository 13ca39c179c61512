"""Whether anybody uses the service."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Activity:
    """Counts what goes on. It belongs to one event loop.

    Args:
        clock: Seconds that go on by themselves.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.requests = 0
        """Requests under way."""
        self.sessions = 0
        """Lines of agents that are open."""
        self.total = 0
        """Requests since the start."""
        self._clock = clock
        self._last_used = clock()

    @contextmanager
    def count_request(self) -> Iterator[None]:
        """Count a request until the block ends."""
        self.requests += 1
        self.total += 1
        try:
            yield
        finally:
            self.requests -= 1
            self._last_used = self._clock()

    @contextmanager
    def count_session(self) -> Iterator[None]:
        """Count an agent's line until the block ends."""
        self.sessions += 1
        try:
            yield
        finally:
            self.sessions -= 1
            self._last_used = self._clock()

    def reset_idle(self) -> None:
        """Begin to count the idle time anew, as for work that is not a request."""
        self._last_used = self._clock()

    @property
    def idle_s(self) -> float:
        """Seconds since anything was under way; 0 as long as something is."""
        return 0.0 if self.requests or self.sessions else self._clock() - self._last_used
