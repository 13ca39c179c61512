"""Activity of the service."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Activity:
    """Counter of requests and sessions. It belongs to one event loop.

    Args:
        clock: Monotonic clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.requests = 0
        """Requests in flight."""
        self.sessions = 0
        """Open sessions of agents."""
        self.watches = 0
        """Pages that follow a repository: the service may end while they are open."""
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
    def count_watch(self) -> Iterator[None]:
        """Count a following page until the block ends. It is no activity."""
        self.watches += 1
        try:
            yield
        finally:
            self.watches -= 1

    @contextmanager
    def count_session(self) -> Iterator[None]:
        """Count an agent's session until the block ends."""
        self.sessions += 1
        try:
            yield
        finally:
            self.sessions -= 1
            self._last_used = self._clock()

    def reset_idle(self) -> None:
        """Restart the idle time, such as for work that is not a request."""
        self._last_used = self._clock()

    @property
    def idle_s(self) -> float:
        """Seconds since the last activity; 0 while there is any."""
        return 0.0 if self.requests or self.sessions else self._clock() - self._last_used
