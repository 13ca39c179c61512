"""Client-side rate limit: at most so many requests within any window of time."""

import threading
import time
from collections import deque
from collections.abc import Callable


class RequestLimiter:
    """A sliding window of requests.

    Args:
        max_requests: Requests within a window.
        window_s: Length of the window in seconds.
        sleep: Waits, given seconds.
        clock: Monotonic time in seconds.
    """

    def __init__(
        self,
        max_requests: int,
        window_s: float = 60.0,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_requests = max_requests
        self._window_s = window_s
        self._sleep = sleep
        self._clock = clock
        self._times: deque[float] = deque()
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait until another request is within the limit, and count it."""
        with self._lock:
            self._forget_old()
            if len(self._times) >= self.max_requests:
                # After this one has left the window, the limit is kept again.
                first = self._times[len(self._times) - self.max_requests]
                self._sleep(max(0.0, first + self._window_s - self._clock()))
                self._forget_old()
            self._times.append(self._clock())

    def _forget_old(self) -> None:
        while self._times and self._times[0] <= self._clock() - self._window_s:
            self._times.popleft()
