"""Proxy of ``coderag mcp``: forwards the messages of one session and survives its backend. Imports nothing slow.

The proxy replies to the opening request itself, at once. The backend gets the same request later; its reply is hidden
from the client. If the backend is lost, requests in flight fail as retryable, and the next request connects a new
backend, to which the opening messages are replayed.
"""

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from coderag.interfaces.mcp.framing import (
    CONNECTION_CLOSED,
    LINE_TOO_LONG_REPLY,
    Message,
    MessageId,
    encode_error,
    encode_result,
    get_message_id,
    parse_message,
)
from coderag.interfaces.mcp.stdio.backends import Backend
from coderag.interfaces.mcp.stdio.handshake import Handshake

logger = logging.getLogger(__name__)

_LISTEN: Final = "subscriptions/listen"
"""A request that gets its reply when the session ends."""


PRECONNECT_DELAY_S: Final = 0.3
"""Seconds after ``server/discover`` without another message until a backend is connected anyway."""


HEALTH_CHECK_S: Final = 10.0
"""Seconds between health checks of a backend that owes replies."""

_MAX_MISSES: Final = 3
"""Consecutive failed health checks before a backend is dropped: a busy machine may be slow."""


class Connector(Protocol):
    """Source of backends."""

    def connect(self) -> Backend:
        """Open a session.

        Raises:
            BackendError: No session can be opened.
        """
        ...


@dataclass(frozen=True, slots=True)
class _QueuedLine:
    """A queued line; `request` is the id of a request, `replay_key` marks a line for replay to new backends."""

    line: bytes
    method: str = ""
    request: MessageId | None = None
    replay_key: str = ""


@dataclass(slots=True)
class _PendingRequest:
    """A request without a reply; `backend` is where it was sent, None if it is still queued."""

    method: str
    backend: Backend | None = None


class SessionProxy:
    """Proxy between a client and a backend.

    Args:
        write: Sends lines to the client; called from several threads.
        connector: Connects backends: on the first message, and again after a loss.
        handshake: Precomputed replies.
        health_check_s: Seconds between health checks.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        connector: Connector,
        handshake: Handshake,
        *,
        health_check_s: float = HEALTH_CHECK_S,
    ) -> None:
        self._write = write
        self._connector = connector
        self._handshake = handshake
        self._health_check_s = health_check_s
        self._lock = threading.Lock()
        self._open_requests: dict[MessageId, _PendingRequest] = {}
        self._hidden_ids: set[MessageId] = set()  # ids whose replies are hidden from the client
        self._replayed: dict[str, _QueuedLine] = {}
        self._backend: Backend | None = None
        self._has_begun = False
        self._has_handshake = False
        self._is_closed = False
        self._queue: queue.SimpleQueue[_QueuedLine | None] = queue.SimpleQueue()
        threading.Thread(target=self._forward_queue, name="mcp-carrier", daemon=True).start()

    @property
    def is_connected(self) -> bool:
        """Return whether a backend is connected."""
        return self._backend is not None

    @property
    def is_idle(self) -> bool:
        """Return whether every request has its reply, except those that get it at the end of the session."""
        with self._lock:
            return all(request.method == _LISTEN for request in self._open_requests.values())

    def handle_client_line(self, line: bytes | None) -> None:
        """Handle a line of the client; None is a line that was too long. Only one thread may call this."""
        if line is None:
            self._write(LINE_TOO_LONG_REPLY)
            return
        message = parse_message(line) or {}
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str):
            self._queue.put(_QueuedLine(line))
        elif (request := get_message_id(message)) is None:
            if method == "notifications/cancelled" and isinstance(params, dict):
                self._forget_request(params)
            self._queue.put(_QueuedLine(line, method, replay_key=_find_replay_key(method, params)))
        else:
            self._handle_request(_QueuedLine(line, method, request, _find_replay_key(method, params)), params)

    def close(self) -> None:
        """End the session with the backend; open requests get no reply."""
        with self._lock:
            self._is_closed = True
            backend = self._backend
        if backend is not None:
            backend.close()

    def _handle_request(self, item: _QueuedLine, params: object) -> None:
        """Reply to a request if its reply is precomputed, and forward it."""
        request = item.request
        if request is None:
            return
        if (result := self._find_known_reply(item.method, params)) is not None:
            self._write(encode_result(request, result))
            self._queue.put(item if item.method == "initialize" else None)
        else:
            with self._lock:
                self._open_requests[request] = _PendingRequest(item.method)
            self._queue.put(item)
        # `server/discover` is no commitment: a client may still send `initialize`.
        self._has_handshake = self._has_handshake or item.method == "initialize"
        self._has_begun = self._has_begun or result is None or item.method == "initialize"

    def _find_known_reply(self, method: str, params: object) -> Message | None:
        if method == "ping" and self._has_handshake and not self.is_connected:
            return {}
        if self._has_begun:
            return None
        if method == "initialize":
            return self._handshake.initialize(params)
        return self._handshake.discover(params) if method == "server/discover" else None

    def _forget_request(self, params: Message) -> None:
        """Drop a request that the client has cancelled: it gets no reply."""
        cancelled = params.get("requestId")
        with self._lock:
            if isinstance(cancelled, str | int):
                self._open_requests.pop(cancelled, None)

    def _forward_queue(self) -> None:
        """Forward queued lines in order until the process ends."""
        while True:
            item = self._wait_for_line()
            is_sent = False
            while not is_sent:
                backend = self._connect_backend()
                is_sent = backend is None or item is None or self._send_line(backend, item)
            if item is not None and item.replay_key:
                self._remember(item)

    def _wait_for_line(self) -> _QueuedLine | None:
        """Return the next line; None if a backend should be connected without one."""
        item = self._queue.get()
        if item is None:
            # Some clients start a process only for `server/discover` and end it at once: nothing should be loaded then.
            with suppress(queue.Empty):
                item = self._queue.get(timeout=PRECONNECT_DELAY_S)
        return item

    def _connect_backend(self) -> Backend | None:
        """Return the backend, connected and initialised if necessary; None on failure."""
        with self._lock:
            if self._backend is not None or self._is_closed:
                return self._backend
        try:
            backend = self._connector.connect()
        except Exception as error:  # top of the thread: the client gets the reason
            logger.debug("no backend can be connected", exc_info=error)
            self._refuse_all(f"CodeRAG cannot be reached: {error}")
            return None
        with self._lock:
            is_closed = self._is_closed
            self._backend = None if is_closed else backend
        threading.Thread(target=self._forward_replies, args=(backend,), name="mcp-receiver", daemon=True).start()
        if backend.is_healthy is not None:
            threading.Thread(target=self._watch_backend, args=(backend,), name="mcp-watcher", daemon=True).start()
        if is_closed:
            backend.close()
            return None
        for item in list(self._replayed.values()):
            self._send_line(backend, item)
        return backend

    def _send_line(self, backend: Backend, item: _QueuedLine) -> bool:
        """Send a line; return False if the backend was lost before."""
        with self._lock:
            if self._backend is not backend:
                return False
            if item.request is not None:
                pending = self._open_requests.get(item.request)
                if pending is not None:
                    pending.backend = backend
                elif item.replay_key:
                    self._hidden_ids.add(item.request)
                else:  # cancelled or refused
                    return True
        backend.send(item.line)
        return True

    def _remember(self, item: _QueuedLine) -> None:
        if item.method == "resources/unsubscribe":
            self._replayed.pop(item.replay_key, None)
        else:
            self._replayed[item.replay_key] = item

    def _forward_replies(self, backend: Backend) -> None:
        """Forward the lines of a backend until it ends."""
        while lines := backend.read_lines():
            visible_lines = [line + b"\n" for line in lines if self._is_for_client(line)]
            if visible_lines:
                self._write(b"".join(visible_lines))
        self._handle_loss(backend)

    def _watch_backend(self, backend: Backend) -> None:
        """Close a backend that owes replies but no longer works: otherwise its client would wait forever."""
        misses = 0
        while misses < _MAX_MISSES:
            if backend.has_ended.wait(self._health_check_s) or backend.is_healthy is None:
                return
            with self._lock:
                owes_replies = any(
                    pending.backend is backend and pending.method != _LISTEN for pending in self._open_requests.values()
                )
            misses = misses + 1 if owes_replies and not backend.is_healthy() else 0
        backend.end_reason = "it no longer responds"
        backend.close()

    def _is_for_client(self, line: bytes) -> bool:
        message = parse_message(line)
        if message is None:
            logger.warning("the backend sent an invalid message: %.200r", line)
            return False
        request = get_message_id(message)
        if request is None or "method" in message:
            return True
        with self._lock:
            if request in self._hidden_ids:
                self._hidden_ids.discard(request)
                if "error" in message:
                    logger.warning("the backend rejected the opening messages: %s", message["error"])
                return False
            self._open_requests.pop(request, None)
        return True

    def _handle_loss(self, backend: Backend) -> None:
        """Fail the requests in flight; reconnect at once if the client waits for notifications."""
        with self._lock:
            lost_ids = [request for request, pending in self._open_requests.items() if pending.backend is backend]
            for request in lost_ids:
                del self._open_requests[request]
            if self._backend is backend:
                self._backend = None
                self._hidden_ids.clear()
            is_closed = self._is_closed
        if is_closed:
            return
        logger.warning("%s has ended%s", backend.name, f": {backend.end_reason}" if backend.end_reason else "")
        for request in lost_ids:
            text = f"{backend.name} ended before it replied; send the request again"
            self._write(encode_error(request, CONNECTION_CLOSED, text, {"retryable": True}))
        if any(item.method == "resources/subscribe" for item in list(self._replayed.values())):
            self._queue.put(None)

    def _refuse_all(self, text: str) -> None:
        with self._lock:
            refused_ids = [request for request, pending in self._open_requests.items() if pending.backend is None]
            for request in refused_ids:
                del self._open_requests[request]
        logger.warning("%s", text)
        for request in refused_ids:
            self._write(encode_error(request, CONNECTION_CLOSED, text, {"retryable": True}))


def _find_replay_key(method: str, params: object) -> str:
    """Return the key under which a message is kept for replay; empty if it is not replayed."""
    if method in ("initialize", "notifications/initialized"):
        return method
    if method in ("resources/subscribe", "resources/unsubscribe") and isinstance(params, dict):
        return f"subscription to {params.get('uri')}"
    return ""
