"""Shares of callers in the requests that a process serves at the same time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from coderag.errors import ServiceBusyError


class RequestShares:
    """Counter of the requests in flight of each caller. It belongs to one event loop.

    Without it, the event streams or slow uploads of one caller could take all places of the process.

    Args:
        max_requests: Requests that a caller may have in flight.
    """

    def __init__(self, max_requests: int) -> None:
        self._max_requests = max_requests
        self._requests: Counter[str] = Counter()

    @contextmanager
    def hold(self, caller: str) -> Iterator[None]:
        """Count a request of a caller until the block ends.

        Raises:
            ServiceBusyError: The caller has too many requests in flight.
        """
        if self._requests[caller] >= self._max_requests:
            message = f"{self._max_requests:,} requests of this account or address are under way"
            raise ServiceBusyError(message, hint="Wait for one to end, or close event streams.")
        self._requests[caller] += 1
        try:
            yield
        finally:
            self._requests[caller] -= 1
            if not self._requests[caller]:
                del self._requests[caller]
