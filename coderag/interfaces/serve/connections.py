"""HTTP connections, limited in number and in the time for a request head."""

import asyncio
import logging
from typing import ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS: Final = 256
"""Maximum open connections per listening address: far below the usual limit of open files."""

HEAD_TIMEOUT_S: Final = 10.0
"""Seconds within which a client must send the complete head of a request."""

_log = logging.getLogger(__name__)


class BoundedConnection(H11Protocol):
    """A connection that is closed if its client is silent or too slow (protection against slowloris)."""

    head_timeout_s: ClassVar[float] = HEAD_TIMEOUT_S
    max_connections: ClassVar[int] = MAX_CONNECTIONS

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Start the timer for a request head."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            _log.debug("a connection was refused: %s are open", len(self.connections) - 1)
            transport.close()
            return
        self._start_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received data: a complete head stops the timer; otherwise it starts or continues."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        else:
            self._start_waiting()

    def _start_waiting(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self.head_timeout_s, self._give_up)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        self.transport.close()
