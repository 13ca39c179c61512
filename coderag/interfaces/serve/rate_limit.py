"""How often a client may ask."""

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
    """A bucket of tokens for each client: a request takes one, and time fills it again.

    Args:
        per_minute: Requests in a minute; as many may come at once after a minute's rest.
        clock: Seconds that go on by themselves.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = float(per_minute)
        self._refill_per_s = per_minute / 60
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, client: str) -> float:
        """Take a token of a client, and return 0; if there is none, the seconds until there is one."""
        now = self._clock()
        bucket = self._buckets.pop(client, None) or _Bucket(self._capacity, now)
        bucket.tokens = min(self._capacity, bucket.tokens + (now - bucket.filled_at) * self._refill_per_s)
        bucket.filled_at = now
        self._buckets[client] = bucket  # behind all others: the first is the one that has waited longest
        if len(self._buckets) > _MAX_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self._refill_per_s
        bucket.tokens -= 1
        return 0.0
