"""Request ids, one log line a request, metrics and spans: the outermost layer of the server's app."""

import logging
import re
import secrets
import time
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coderag.engine.telemetry import NullTracer, QueryTracer
from coderag.interfaces.rest.app import PREFIX
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY
from coderag.server.access.principal import Principal
from coderag.server.logs import FIELDS, REQUEST_ID
from coderag.server.metrics import ServerMetrics

REQUEST_ID_HEADER: Final = b"x-request-id"
REQUEST_ID_KEY: Final = "coderag.request_id"
"""Key of an ASGI scope with the id of the request."""

UNMATCHED: Final = "unmatched"
"""Route of a path that no route has. The path itself is what a caller wrote, so it is nowhere."""

_CLIENT_CLOSED: Final = 499
"""Status, as of nginx, of a request whose client has gone before the reply began."""

_VALID_ID: Final = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_ID_BYTES: Final = 12
_MOUNTED: Final = ("/mcp", "/sse", "/messages", "/web", "/assets", "/healthz", "/readyz", "/metrics")
"""Parts of the app that have no templates of their own."""

_log = logging.getLogger("coderag.server.requests")


class ObservedApp:
    """ASGI app that observes the requests of another.

    A valid ``X-Request-ID`` of the client or proxy is taken over; each reply has one.

    Args:
        app: The app.
        metrics: Metrics to add to.
        tracer: Tracer of requests.
    """

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, tracer: QueryTracer | NullTracer | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._tracer = tracer or NullTracer()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = scope[REQUEST_ID_KEY] = _choose_id(scope["headers"])
        token = REQUEST_ID.set(request_id)
        reply = _ObservedReply(send, self._metrics, request_id)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            with self._tracer.trace_request(scope["method"], headers) as record_reply:
                try:
                    await self._app(scope, receive, reply.send)
                except Exception:
                    reply.status = reply.status or 500
                    raise
                finally:
                    record_reply(find_route(scope), reply.status or _CLIENT_CLOSED)
        finally:
            self._finish(scope, reply)
            REQUEST_ID.reset(token)

    def _finish(self, scope: Scope, reply: "_ObservedReply") -> None:
        status, route = reply.status or _CLIENT_CLOSED, find_route(scope)
        total_s = reply.finish()
        self._metrics.observe_request(route, scope["method"], status, reply.seconds or total_s)
        principal = scope.get(PRINCIPAL_KEY)
        fields = {
            "principal": principal.user_id if isinstance(principal, Principal) else "",
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(total_s * 1_000, 1),
        }
        _log.info("request", extra={FIELDS: fields})


class _ObservedReply:
    """Reply that is being sent. An event stream ends when its client goes, so its latency is that of its start."""

    def __init__(self, send: Send, metrics: ServerMetrics, request_id: str) -> None:
        self._send = send
        self._metrics = metrics
        self._request_id = request_id
        self._started_at = time.perf_counter()
        self._gauge = metrics.in_flight
        self._gauge.inc()
        self.status = 0
        self.seconds = 0.0

    async def send(self, message: Message) -> None:
        """Forward a part of the reply."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [item for item in message.get("headers", ()) if item[0].lower() != REQUEST_ID_HEADER]
            message = {**message, "headers": [*headers, (REQUEST_ID_HEADER, self._request_id.encode())]}
            if _is_stream(headers):
                self.seconds = time.perf_counter() - self._started_at
                self._gauge.dec()
                self._gauge = self._metrics.open_streams
                self._gauge.inc()
        await self._send(message)

    def finish(self) -> float:
        """Note the end of the reply, and return the seconds since its request."""
        self._gauge.dec()
        return time.perf_counter() - self._started_at


def find_route(scope: Scope) -> str:
    """Return the template of the route that a request took, such as ``/api/v1/chat/{thread}``."""
    path: str = scope["path"]
    template = getattr(scope.get("route"), "path", "")
    if template:
        is_below = path.startswith(f"{PREFIX}/") and not template.startswith(f"{PREFIX}/")
        return f"{PREFIX}{template}" if is_below else str(template)
    return next((part for part in _MOUNTED if path == part or path.startswith(f"{part}/")), UNMATCHED)


def _choose_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    given = next((value for name, value in headers if name.lower() == REQUEST_ID_HEADER), b"")
    return given.decode() if _VALID_ID.fullmatch(given) else secrets.token_hex(_ID_BYTES)


def _is_stream(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)
