"""Rate limit per client."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_MAX_CLIENTS: Final = 1_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class RateLimit:
    """Token bucket per client: a request takes a token, time refills the bucket.

    Args:
        per_minute: Requests per minute, and size of a burst.
        clock: Monotonic clock in seconds.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = float(per_minute)
        self._refill_per_s = per_minute / 60
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, client: str) -> float:
        """Take a token of a client and return 0; without one, return the seconds until the next."""
        now = self._clock()
        bucket = self._buckets.pop(client, None) or _Bucket(self._capacity, now)
        bucket.tokens = min(self._capacity, bucket.tokens + (now - bucket.filled_at) * self._refill_per_s)
        bucket.filled_at = now
        self._buckets[client] = bucket  # moved to the end: the first is the least recently used
        if len(self._buckets) > _MAX_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self._refill_per_s
        bucket.tokens -= 1
        return 0.0
