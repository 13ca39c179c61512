"""Guard in front of the HTTP app: authentication, rate limit and request limits."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from coderag.errors import CodeRAGError, ServiceBusyError
from coderag.interfaces.rest.freshness_routes import WATCH_PATH
from coderag.interfaces.rest.problems import to_problem, to_response
from coderag.interfaces.rest.strict_route import MAX_BODY_BYTES
from coderag.interfaces.serve.activity import Activity
from coderag.interfaces.serve.authentication import Authenticator
from coderag.interfaces.serve.bounded_requests import BoundedRequests, format_too_large, make_ending_error
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
        self._serve = BoundedRequests(app, rules.request_s, rules.max_body_bytes, stopping)
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
            raise _build_busy_refusal(make_ending_error(), 1)
        if self._activity.requests + self._activity.watches >= self._rules.max_requests:
            raise _build_busy_refusal(
                ServiceBusyError("too many concurrent requests", hint="Try again in a moment."), 1
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._rules.max_body_bytes:
            raise RefusedError(
                build_problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, format_too_large(self._rules.max_body_bytes))
            )

    def _reply_to_health(self, scope: Scope, headers: Headers) -> Response:
        challenge = headers.get(CHALLENGE_HEADER, "")
        has_challenge = 0 < len(challenge) <= _MAX_CHALLENGE_CHARS
        # No proof for remote clients: a weak token could be brute-forced with it offline.
        proof_text = compute_proof(self._rules.token, challenge) if has_challenge and _is_local(scope) else ""
        return PlainTextResponse("ok\n", headers={PROOF_HEADER: proof_text} if proof_text else None)


def _find_client(scope: Scope) -> str:
    """Return the address of the client; empty over a Unix socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _is_local(scope: Scope) -> bool:
    client = _find_client(scope)
    return not client or is_loopback(client)


def _build_busy_refusal(error: CodeRAGError, wait_s: float) -> RefusedError:
    return RefusedError(to_problem(error), {"retry-after": str(max(1, round(wait_s)))})
