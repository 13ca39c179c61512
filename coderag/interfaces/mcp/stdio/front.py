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
    TOO_LONG,
    Message,
    MessageId,
    error_line,
    id_of,
    parse,
    result_line,
)
from coderag.interfaces.mcp.stdio.backends import Backend
from coderag.interfaces.mcp.stdio.handshake import Handshake

logger = logging.getLogger(__name__)

_LISTEN: Final = "subscriptions/listen"
"""A request that is answered when the session ends."""


AHEAD_S: Final = 0.3
"""Seconds after ``server/discover`` without another message until something is behind all the same."""


LOOK_S: Final = 10.0
"""Between two looks at whether what is behind still does its work, while it owes replies."""

_MOST_MISSES: Final = 3
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
class _Item:
    """A line on its way; `request` is the id if it is a request, `keep` names it if it is said again to what comes next."""

    line: bytes
    method: str = ""
    request: MessageId | None = None
    keep: str = ""


@dataclass(slots=True)
class _Request:
    """A request that is not answered yet; `at` is what it was sent to, None if it still waits."""

    method: str
    at: Backend | None = None


class Front:
    """Stands between a client and what is behind.

    Args:
        write: Sends lines to the client; called by several threads.
        connector: Gives what is behind; asked when the first message is there, and again after it was lost.
        handshake: The replies that are known beforehand.
        look_s: Seconds between two looks at whether what is behind still does its work.
    """

    def __init__(
        self, write: Callable[[bytes], None], connector: Connector, handshake: Handshake, *, look_s: float = LOOK_S
    ) -> None:
        self._write = write
        self._connector = connector
        self._handshake = handshake
        self._look_s = look_s
        self._lock = threading.Lock()
        self._open: dict[MessageId, _Request] = {}
        self._hidden: set[MessageId] = set()  # whose replies the client does not see
        self._kept: dict[str, _Item] = {}
        self._backend: Backend | None = None
        self._has_begun = False
        self._has_handshake = False
        self._has_closed = False
        self._waiting: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        threading.Thread(target=self._carry, name="mcp-carrier", daemon=True).start()

    @property
    def is_connected(self) -> bool:
        """Whether something is behind."""
        return self._backend is not None

    @property
    def is_idle(self) -> bool:
        """Whether every request is answered, but those that are answered at the end."""
        with self._lock:
            return all(request.method == _LISTEN for request in self._open.values())

    def from_client(self, line: bytes | None) -> None:
        """Take a line of the client; None is one that was too long. Only one thread may call this."""
        if line is None:
            self._write(TOO_LONG)
            return
        message = parse(line) or {}
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str):
            self._waiting.put(_Item(line))
        elif (request := id_of(message)) is None:
            if method == "notifications/cancelled" and isinstance(params, dict):
                self._forget(params)
            self._waiting.put(_Item(line, method, keep=_name_of(method, params)))
        else:
            self._take(_Item(line, method, request, _name_of(method, params)), params)

    def close(self) -> None:
        """End the session with what is behind; requests are answered no more."""
        with self._lock:
            self._has_closed = True
            backend = self._backend
        if backend is not None:
            backend.close()

    def _take(self, item: _Item, params: object) -> None:
        """Take a request: answer it if the reply is known beforehand, and pass it on."""
        request = item.request
        if request is None:
            return
        if (result := self._known_reply(item.method, params)) is not None:
            self._write(result_line(request, result))
            self._waiting.put(item if item.method == "initialize" else None)
        else:
            with self._lock:
                self._open[request] = _Request(item.method)
            self._waiting.put(item)
        # `server/discover` commits to nothing: a client may still go on with `initialize`.
        self._has_handshake = self._has_handshake or item.method == "initialize"
        self._has_begun = self._has_begun or result is None or item.method == "initialize"

    def _known_reply(self, method: str, params: object) -> Message | None:
        if method == "ping" and self._has_handshake and not self.is_connected:
            return {}
        if self._has_begun:
            return None
        if method == "initialize":
            return self._handshake.initialize(params)
        return self._handshake.discover(params) if method == "server/discover" else None

    def _forget(self, params: Message) -> None:
        """Wait no more for a request that the client has cancelled: it is not answered."""
        cancelled = params.get("requestId")
        with self._lock:
            if isinstance(cancelled, str | int):
                self._open.pop(cancelled, None)

    def _carry(self) -> None:
        """Pass on what waits, in order, for the life of the session."""
        while True:
            item = self._next()
            sent = False
            while not sent:
                backend = self._ready()
                sent = backend is None or item is None or self._send(backend, item)
            if item is not None and item.keep:
                self._keep(item)

    def _next(self) -> _Item | None:
        """Return what comes next; None if something is to be behind without that."""
        item = self._waiting.get()
        if item is None:
            # Clients start a process only for `server/discover`, and end it at once: that one need not load anything.
            with suppress(queue.Empty):
                item = self._waiting.get(timeout=AHEAD_S)
        return item

    def _ready(self) -> Backend | None:
        """Return what is behind, connected and introduced if it was not; None if that cannot be done."""
        with self._lock:
            if self._backend is not None or self._has_closed:
                return self._backend
        try:
            backend = self._connector.connect()
        except Exception as error:  # the top of the thread: whatever it is, the client is told
            logger.debug("nothing can be connected", exc_info=error)
            self._refuse_all(f"CodeRAG cannot be reached: {error}")
            return None
        with self._lock:
            closed = self._has_closed
            self._backend = None if closed else backend
        threading.Thread(target=self._receive, args=(backend,), name="mcp-receiver", daemon=True).start()
        if backend.is_well is not None:
            threading.Thread(target=self._watch, args=(backend,), name="mcp-watcher", daemon=True).start()
        if closed:
            backend.close()
            return None
        for item in list(self._kept.values()):
            self._send(backend, item)
        return backend

    def _send(self, backend: Backend, item: _Item) -> bool:
        """Send a line; False if what is behind was lost before."""
        with self._lock:
            if self._backend is not backend:
                return False
            if item.request is not None:
                asked = self._open.get(item.request)
                if asked is not None:
                    asked.at = backend
                elif item.keep:
                    self._hidden.add(item.request)
                else:  # cancelled, or refused
                    return True
        backend.send(item.line)
        return True

    def _keep(self, item: _Item) -> None:
        if item.method == "resources/unsubscribe":
            self._kept.pop(item.keep, None)
        else:
            self._kept[item.keep] = item

    def _receive(self, backend: Backend) -> None:
        """Pass on what comes from behind, until it ends."""
        while lines := backend.lines():
            seen = [line + b"\n" for line in lines if self._is_for_client(line)]
            if seen:
                self._write(b"".join(seen))
        self._lose(backend)

    def _watch(self, backend: Backend) -> None:
        """End a connection to what owes replies and does no work any more: else its client would wait for ever."""
        misses = 0
        while misses < _MOST_MISSES:
            if backend.ended.wait(self._look_s) or backend.is_well is None:
                return
            with self._lock:
                owes = any(one.at is backend and one.method != _LISTEN for one in self._open.values())
            misses = misses + 1 if owes and not backend.is_well() else 0
        backend.fault = "it does not answer any more"
        backend.close()

    def _is_for_client(self, line: bytes) -> bool:
        message = parse(line)
        if message is None:
            logger.warning("what is behind said something that is no message: %.200r", line)
            return False
        request = id_of(message)
        if request is None or "method" in message:
            return True
        with self._lock:
            if request in self._hidden:
                self._hidden.discard(request)
                if "error" in message:
                    logger.warning("the session was not taken as it was begun: %s", message["error"])
                return False
            self._open.pop(request, None)
        return True

    def _lose(self, backend: Backend) -> None:
        """Answer what was under way, and find something else at once if the client waits for notices."""
        with self._lock:
            lost = [request for request, asked in self._open.items() if asked.at is backend]
            for request in lost:
                del self._open[request]
            if self._backend is backend:
                self._backend = None
                self._hidden.clear()
            closed = self._has_closed
        if closed:
            return
        logger.warning("%s has ended%s", backend.name, f": {backend.fault}" if backend.fault else "")
        for request in lost:
            text = f"{backend.name} ended before it answered; send the request again"
            self._write(error_line(request, CONNECTION_CLOSED, text, {"retryable": True}))
        if any(item.method == "resources/subscribe" for item in list(self._kept.values())):
            self._waiting.put(None)

    def _refuse_all(self, text: str) -> None:
        with self._lock:
            refused = [request for request, asked in self._open.items() if asked.at is None]
            for request in refused:
                del self._open[request]
        logger.warning("%s", text)
        for request in refused:
            self._write(error_line(request, CONNECTION_CLOSED, text, {"retryable": True}))


def _name_of(method: str, params: object) -> str:
    """Return by what name a message is kept, to be said again to what comes next; empty if it is not."""
    if method in ("initialize", "notifications/initialized"):
        return method
    if method in ("resources/subscribe", "resources/unsubscribe") and isinstance(params, dict):
        return f"subscription to {params.get('uri')}"
    return ""
