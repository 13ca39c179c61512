"""The front of ``coderag mcp``: passes the messages of one session on, and outlives what is behind it. Imports nothing slow.

It answers the request that opens the session itself, at once, and what is behind has the same request later, whose reply the
client does not see again. If what is behind goes away, the requests that were under way fail with the advice to try again,
and the next one finds something else there, to which the session is introduced anew.
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
"""A request that is answered when the session ends."""


PRECONNECT_DELAY_S: Final = 0.3
"""Seconds after ``server/discover`` without another message until something is behind all the same."""


HEALTH_CHECK_S: Final = 10.0
"""Between two looks at whether what is behind still does its work, while it owes replies."""

_MAX_MISSES: Final = 3
"""Looks, one after the other, that find it dead before it is given up: a busy machine may be slow."""


class Connector(Protocol):
    """Makes connections to what is behind."""

    def connect(self) -> Backend:
        """Begin a session.

        Raises:
            BackendError: It cannot be begun.
        """
        ...


@dataclass(frozen=True, slots=True)
class _QueuedLine:
    """A line on its way; `request` is the id if it is a request, `keep` names it if it is said again to what comes next."""

    line: bytes
    method: str = ""
    request: MessageId | None = None
    replay_key: str = ""


@dataclass(slots=True)
class _PendingRequest:
    """A request that is not answered yet; `at` is what it was sent to, None if it still waits."""

    method: str
    backend: Backend | None = None


class SessionProxy:
    """Stands between a client and what is behind.

    Args:
        write: Sends lines to the client; called by several threads.
        connector: Gives what is behind; asked when the first message is there, and again after it was lost.
        handshake: The replies that are known beforehand.
        look_s: Seconds between two looks at whether what is behind still does its work.
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
        self._hidden_ids: set[MessageId] = set()  # whose replies the client does not see
        self._replayed: dict[str, _QueuedLine] = {}
        self._backend: Backend | None = None
        self._has_begun = False
        self._has_handshake = False
        self._is_closed = False
        self._queue: queue.SimpleQueue[_QueuedLine | None] = queue.SimpleQueue()
        threading.Thread(target=self._forward_queue, name="mcp-carrier", daemon=True).start()

    @property
    def is_connected(self) -> bool:
        """Whether something is behind."""
        return self._backend is not None

    @property
    def is_idle(self) -> bool:
        """Whether every request is answered, but those that are answered at the end."""
        with self._lock:
            return all(request.method == _LISTEN for request in self._open_requests.values())

    def handle_client_line(self, line: bytes | None) -> None:
        """Take a line of the client; None is one that was too long. Only one thread may call this."""
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
        """End the session with what is behind; requests are answered no more."""
        with self._lock:
            self._is_closed = True
            backend = self._backend
        if backend is not None:
            backend.close()

    def _handle_request(self, item: _QueuedLine, params: object) -> None:
        """Take a request: answer it if the reply is known beforehand, and pass it on."""
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
        # `server/discover` commits to nothing: a client may still go on with `initialize`.
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
        """Wait no more for a request that the client has cancelled: it is not answered."""
        cancelled = params.get("requestId")
        with self._lock:
            if isinstance(cancelled, str | int):
                self._open_requests.pop(cancelled, None)

    def _forward_queue(self) -> None:
        """Pass on what waits, in order, for the life of the session."""
        while True:
            item = self._wait_for_line()
            is_sent = False
            while not is_sent:
                backend = self._connect_backend()
                is_sent = backend is None or item is None or self._send_line(backend, item)
            if item is not None and item.replay_key:
                self._remember(item)

    def _wait_for_line(self) -> _QueuedLine | None:
        """Return what comes next; None if something is to be behind without that."""
        item = self._queue.get()
        if item is None:
            # Clients start a process only for `server/discover`, and end it at once: that one need not load anything.
            with suppress(queue.Empty):
                item = self._queue.get(timeout=PRECONNECT_DELAY_S)
        return item

    def _connect_backend(self) -> Backend | None:
        """Return what is behind, connected and introduced if it was not; None if that cannot be done."""
        with self._lock:
            if self._backend is not None or self._is_closed:
                return self._backend
        try:
            backend = self._connector.connect()
        except Exception as error:  # the top of the thread: whatever it is, the client is told
            logger.debug("nothing can be connected", exc_info=error)
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
        """Send a line; False if what is behind was lost before."""
        with self._lock:
            if self._backend is not backend:
                return False
            if item.request is not None:
                pending = self._open_requests.get(item.request)
                if pending is not None:
                    pending.backend = backend
                elif item.replay_key:
                    self._hidden_ids.add(item.request)
                else:  # cancelled, or refused
                    return True
        backend.send(item.line)
        return True

    def _remember(self, item: _QueuedLine) -> None:
        if item.method == "resources/unsubscribe":
            self._replayed.pop(item.replay_key, None)
        else:
            self._replayed[item.replay_key] = item

    def _forward_replies(self, backend: Backend) -> None:
        """Pass on what comes from behind, until it ends."""
        while lines := backend.read_lines():
            visible_lines = [line + b"\n" for line in lines if self._is_for_client(line)]
            if visible_lines:
                self._write(b"".join(visible_lines))
        self._handle_loss(backend)

    def _watch_backend(self, backend: Backend) -> None:
        """End a connection to what owes replies and does no work any more: else its client would wait for ever."""
        misses = 0
        while misses < _MAX_MISSES:
            if backend.has_ended.wait(self._health_check_s) or backend.is_healthy is None:
                return
            with self._lock:
                owes_replies = any(
                    pending.backend is backend and pending.method != _LISTEN for pending in self._open_requests.values()
                )
            misses = misses + 1 if owes_replies and not backend.is_healthy() else 0
        backend.end_reason = "it does not answer any more"
        backend.close()

    def _is_for_client(self, line: bytes) -> bool:
        message = parse_message(line)
        if message is None:
            logger.warning("what is behind said something that is no message: %.200r", line)
            return False
        request = get_message_id(message)
        if request is None or "method" in message:
            return True
        with self._lock:
            if request in self._hidden_ids:
                self._hidden_ids.discard(request)
                if "error" in message:
                    logger.warning("the session was not taken as it was begun: %s", message["error"])
                return False
            self._open_requests.pop(request, None)
        return True

    def _handle_loss(self, backend: Backend) -> None:
        """Answer what was under way, and find something else at once if the client waits for notices."""
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
            text = f"{backend.name} ended before it answered; send the request again"
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
    """Return by what name a message is kept, to be said again to what comes next; empty if it is not."""
    if method in ("initialize", "notifications/initialized"):
        return method
    if method in ("resources/subscribe", "resources/unsubscribe") and isinstance(params, dict):
        return f"subscription to {params.get('uri')}"
    return ""
