"""Token buckets: limits of requests a minute, in the memory of one process."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_MAX_BUCKETS: Final = 20_000
_MINUTE_S: Final = 60.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class TokenBuckets:
    """Bucket of each subject: a request takes a token, and time refills it. Thread-safe and bounded.

    Args:
        timer: Monotonic clock in seconds.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, limits: Mapping[str, int]) -> tuple[str, float]:
        """Take a token from the bucket of each subject, or from none.

        Args:
            limits: Requests a minute, and in a burst, by subject.

        Returns:
            An empty text and 0; or the subject whose bucket is empty, and the seconds until it has a token.
        """
        with self._lock:
            now = self._timer()
            buckets = {subject: self._fill(subject, limit, now) for subject, limit in limits.items()}
            waits = {
                subject: (1 - bucket.tokens) * _MINUTE_S / limits[subject]
                for subject, bucket in buckets.items()
                if bucket.tokens < 1
            }
            if waits:
                slowest = max(waits, key=waits.__getitem__)
                return slowest, waits[slowest]
            for bucket in buckets.values():
                bucket.tokens -= 1
            return "", 0.0

    def _fill(self, subject: str, limit: int, now: float) -> _Bucket:
        bucket = self._buckets.get(subject)
        if bucket is None:
            bucket = self._buckets[subject] = _Bucket(float(limit), now)
            if len(self._buckets) > _MAX_BUCKETS:
                self._buckets.popitem(last=False)  # the least recently used, which is full by now
        else:
            self._buckets.move_to_end(subject)
            bucket.tokens = min(float(limit), bucket.tokens + (now - bucket.filled_at) * limit / _MINUTE_S)
            bucket.filled_at = now
        return bucket
