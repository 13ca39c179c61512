"""Garbage collection of closed engines and replaced generations, seldom enough that it does not slow queries down."""

import gc
import threading
from collections.abc import Callable
from typing import Final

from coderag.system.process_memory import trim_heap

_MAX_PENDING: Final = 8
_DELAY_S: Final = 2.0


def collect_and_trim() -> None:
    """Collect garbage, and return its memory to the system."""
    gc.collect()
    trim_heap()


class EngineCollector:
    """Collector of closed engines and replaced generations. Thread-safe.

    An engine, and an open generation of it, is a reference cycle of few objects, which Python's collector would reach
    late. A full collection stops all threads for about a tenth of a second, so several of them share one.

    Args:
        collect: Collects garbage.
        max_pending: Number of closed engines that are collected at once.
        delay_s: Seconds after which fewer are collected, too.
    """

    def __init__(
        self,
        collect: Callable[[], object] = collect_and_trim,
        *,
        max_pending: int = _MAX_PENDING,
        delay_s: float = _DELAY_S,
    ) -> None:
        self._collect = collect
        self._max_pending = max_pending
        self._delay_s = delay_s
        self._lock = threading.Lock()
        self._pending = 0
        self._timer: threading.Timer | None = None

    def note_closed(self, number: int) -> None:
        """Note closed engines, and collect them now or soon."""
        with self._lock:
            self._pending += number
            is_due = self._pending >= self._max_pending
            if number and not is_due and self._timer is None:
                self._timer = threading.Timer(self._delay_s, self.flush)
                self._timer.daemon = True
                self._timer.start()
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Collect the closed engines that were not collected yet."""
        with self._lock:
            number, self._pending = self._pending, 0
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if number:
            self._collect()
