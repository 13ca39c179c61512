"""Guard in front of the HTTP app: authentication, rate limit and request limits."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coderag.errors import CodeRAGError, ServiceBusyError, ServiceError
from coderag.interfaces.rest.freshness_routes import WATCH_PATH
from coderag.interfaces.rest.problems import Problem, to_problem, to_response
from coderag.interfaces.rest.strict_route import MAX_BODY_BYTES
from coderag.interfaces.serve.activity import Activity
from coderag.interfaces.serve.authentication import Authenticator
from coderag.interfaces.serve.hosts import KnownHosts
from coderag.interfaces.serve.options import is_loopback
from coderag.interfaces.serve.rate_limit import RateLimit
from coderag.interfaces.serve.refusals import RefusedError, build_problem
from coderag.interfaces.web.sessions import WebSessions
from coderag.service.client import CHALLENGE_HEADER, HEALTH_PATH, PROOF_HEADER, compute_proof

MAX_REQUESTS: Final = 128
"""Maximum concurrent requests, streams included."""

_MAX_CHALLENGE_CHARS: Final = 128
_EVENT_TYPE: Final = b"text/event-stream"


@dataclass(frozen=True, slots=True)
class GuardRules:
    """Limits of the guard.

    Attributes:
        token: Token of programs; only the health check needs none.
        hosts: Accepted host names.
        request_s: Seconds that a request may take, or until an event stream begins.
        max_requests: Maximum concurrent requests.
        max_body_bytes: Maximum body size of a request.
        sessions: Sessions of browsers; None serves no web interface.
    """

    token: str
    hosts: KnownHosts
    request_s: float
    max_requests: int = MAX_REQUESTS
    max_body_bytes: int = MAX_BODY_BYTES
    sessions: WebSessions | None = None


class RequestGuard:
    """ASGI middleware that authenticates and limits requests.

    Args:
        app: The guarded app.
        rules: Limits of the guard.
        rate: Rate limit per client.
        activity: Counter of requests.
        stopping: Set when the service ends: new requests are rejected, endless streams are ended.
    """

    def __init__(
        self, app: ASGIApp, rules: GuardRules, rate: RateLimit, activity: Activity, stopping: asyncio.Event
    ) -> None:
        self._app = app
        self._rules = rules
        self._rate = rate
        self._authenticator = Authenticator(rules.token, rules.sessions)
        self._activity = activity
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or reject a request."""
        if scope["type"] != "http":
            return  # WebSockets are rejected by not replying
        headers = Headers(scope=scope)
        try:
            self._check_hosts(headers)
            if scope["path"] == HEALTH_PATH:
                await self._reply_to_health(scope, headers)(scope, receive, send)
                return
            identity = self._authenticator.identify(scope, headers)
            self._check_rate(scope, is_known=identity.is_known)
            self._authenticator.check(identity, scope, headers)
            self._check_load(headers)
        except RefusedError as error:
            await to_response(error.problem, error.headers)(scope, receive, send)
            return
        is_watch = scope["path"] == WATCH_PATH
        with self._activity.count_watch() if is_watch else self._activity.count_request():
            await self._serve(scope, receive, send)

    def _check_hosts(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._rules.hosts.is_host(hosts[0]):
            raise RefusedError(build_problem(HTTPStatus.MISDIRECTED_REQUEST, "the Host header is not allowed"))
        origin = headers.get("origin")
        if origin is not None and not self._rules.hosts.is_origin(origin):
            raise RefusedError(build_problem(HTTPStatus.FORBIDDEN, "the Origin header is not allowed"))

    def _check_rate(self, scope: Scope, *, is_known: bool) -> None:
        # Clients without the token must not use up the rate of those with it.
        wait_s = self._rate.take(f"{_find_client(scope)} {'with' if is_known else 'without'} token")
        if wait_s:
            raise _build_busy_refusal(ServiceBusyError("too many requests", hint="Send fewer requests."), wait_s)

    def _check_load(self, headers: Headers) -> None:
        if self._stopping.is_set():
            raise _build_busy_refusal(_make_ending_error(), 1)
        if self._activity.requests + self._activity.watches >= self._rules.max_requests:
            raise _build_busy_refusal(
                ServiceBusyError("too many concurrent requests", hint="Try again in a moment."), 1
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._rules.max_body_bytes:
            raise RefusedError(
                build_problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _format_too_large(self._rules.max_body_bytes))
            )

    def _reply_to_health(self, scope: Scope, headers: Headers) -> Response:
        challenge = headers.get(CHALLENGE_HEADER, "")
        has_challenge = 0 < len(challenge) <= _MAX_CHALLENGE_CHARS
        # No proof for remote clients: a weak token could be brute-forced with it offline.
        proof_text = compute_proof(self._rules.token, challenge) if has_challenge and _is_local(scope) else ""
        return PlainTextResponse("ok\n", headers={PROOF_HEADER: proof_text} if proof_text else None)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(scope, receive, send, self._rules.max_body_bytes)
        end_task = asyncio.create_task(self._end_stream(exchange, asyncio.current_task()))
        try:
            async with asyncio.timeout(self._rules.request_s) as exchange.timeout:
                await self._app(scope, exchange.receive, exchange.send)
        except TimeoutError:
            message = f"the request exceeded its timeout of {self._rules.request_s:,.0f} s"
            await exchange.refuse(to_problem(ServiceError(message, hint="Reduce the work of the request.")))
        except HTTPException as error:  # from an app that does not convert it to a response
            await exchange.refuse(build_problem(HTTPStatus(error.status_code), error.detail))
        except asyncio.CancelledError:
            if exchange.was_ended:
                await exchange.end_stream()
            elif self._stopping.is_set() and not exchange.has_begun:  # the grace period is over
                await exchange.refuse(to_problem(_make_ending_error()))
            else:
                raise
        finally:
            end_task.cancel()

    async def _end_stream(self, exchange: "_Exchange", task: "asyncio.Task[object] | None") -> None:
        """End an endless event stream when the service ends; other requests are finished."""
        await self._stopping.wait()
        if task is not None and exchange.is_open_stream:
            exchange.was_ended = True
            task.cancel()


class _Exchange:
    """A request and its reply, with a body limit and the state of the reply.

    Args:
        scope: ASGI scope of the request.
        receive: ASGI receive of the request.
        send: ASGI send of the reply.
        max_body_bytes: Maximum size of the body.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, max_body_bytes: int) -> None:
        self.timeout: asyncio.Timeout | None = None
        self.was_ended = False
        self._scope = scope
        self._receive = receive
        self._send = send
        self._max_body_bytes = max_body_bytes
        self._body_bytes_left = max_body_bytes
        self.has_begun = False
        self._is_stream = False

    @property
    def is_open_stream(self) -> bool:
        """Return whether the reply is an endless event stream."""
        return self._is_stream and self._scope["method"] == "GET"

    async def receive(self) -> Message:
        """Receive the next part of the request."""
        message = await self._receive()
        self._body_bytes_left -= len(message.get("body", b""))
        if self._body_bytes_left < 0:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _format_too_large(self._max_body_bytes))
        return message

    async def send(self, message: Message) -> None:
        """Forward a part of the reply. A started stream has no timeout."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            self._is_stream = _is_stream(message)
            if self._is_stream and self.timeout is not None:
                self.timeout.reschedule(None)
        await self._send(message)

    async def refuse(self, problem: Problem) -> None:
        """Reply with an error; abort a reply that has already begun."""
        if self.has_begun:
            raise ConnectionAbortedError(problem.detail)
        await to_response(problem)(self._scope, self._receive, self._send)

    async def end_stream(self) -> None:
        """End a stream gracefully."""
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _find_client(scope: Scope) -> str:
    """Return the address of the client; empty over a Unix socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _is_local(scope: Scope) -> bool:
    client = _find_client(scope)
    return not client or is_loopback(client)


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(_EVENT_TYPE) for name, value in message.get("headers", ())
    )


def _build_busy_refusal(error: CodeRAGError, wait_s: float) -> RefusedError:
    return RefusedError(to_problem(error), {"retry-after": str(max(1, round(wait_s)))})


def _make_ending_error() -> ServiceError:
    return ServiceError("the service is shutting down", hint="Try again in a moment.")


def _format_too_large(max_bytes: int) -> str:
    return f"the body has more than {max_bytes:,} bytes"
