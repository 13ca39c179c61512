"""Thread-safe list of event listeners."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_logger = logging.getLogger(__name__)

Event = TypeVar("Event")


class Listeners(Generic[Event]):
    """Event listeners. Any thread may add and remove them, also during a notification."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Callable[[Event], None]] = []

    def add(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Add a listener; return a function that removes it and may be called repeatedly."""
        with self._lock:
            self._listeners.append(listener)

        def remove() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return remove

    def notify(self, event: Event) -> None:
        """Call all listeners. An exception is logged and does not reach the caller."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener(event)
            except Exception:  # boundary to foreign code
                _logger.exception("A listener failed")
