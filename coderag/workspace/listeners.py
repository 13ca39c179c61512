"""Functions that are told what happens, from whichever thread it happens in."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_logger = logging.getLogger(__name__)

Event = TypeVar("Event")


class Listeners(Generic[Event]):
    """Functions to be told. They may be added and removed by any thread, also while others are told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Callable[[Event], None]] = []

    def add(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Have a function told from now on; return what ends that, once or more often."""
        with self._lock:
            self._listeners.append(listener)

        def remove() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return remove

    def notify(self, event: Event) -> None:
        """Call each of them. One that fails is logged: who tells must not suffer for who listens."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener(event)
            except Exception:  # the boundary to code that we do not know
                _logger.exception("A listener failed")
