"""Health, readiness and metrics: ``/healthz``, ``/readyz`` and ``/metrics``."""

import hmac
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from coderag.errors import AuthenticationError, CodeRAGError, PermissionDeniedError
from coderag.interfaces.rest.problems import respond
from coderag.interfaces.server.access_gate import AuditRecorder
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action
from coderag.server.metrics import CONTENT_TYPE, ServerMetrics
from coderag.server.readiness import OK, Readiness

HEALTH_PATH: Final = "/healthz"
READINESS_PATH: Final = "/readyz"
METRICS_PATH: Final = "/metrics"
HEALTH_PATHS: Final = (HEALTH_PATH, READINESS_PATH, METRICS_PATH)

_HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

Identify = Callable[[Scope], Awaitable[Principal | None]]
"""Returns the caller of a request, as `Authenticator.identify`."""


class HealthRoutes:
    """Routes that load balancers and Prometheus ask.

    Args:
        readiness: State of what requests need.
        metrics: The metrics.
        audit: The audit record, for whoever reads metrics with an account, or must not.
        identify: Returns the caller of a request.
        token: Token with which Prometheus reads the metrics; an empty one is none.
    """

    def __init__(
        self, readiness: Readiness, metrics: ServerMetrics, audit: AuditRecorder, identify: Identify, token: SecretStr
    ) -> None:
        self._readiness = readiness
        self._metrics = metrics
        self._audit = audit
        self._identify = identify
        self._token = token.get_secret_value()

    def make_app(self) -> Starlette:
        """Make the app that serves `HEALTH_PATHS`, without authentication before it."""
        return Starlette(
            routes=[
                Route(HEALTH_PATH, self._reply_health, methods=["GET"]),
                Route(READINESS_PATH, self._reply_readiness, methods=["GET"]),
                Route(METRICS_PATH, self._reply_metrics, methods=["GET"]),
            ]
        )

    async def _reply_health(self, _: Request) -> Response:
        return JSONResponse({"status": OK}, headers=_HEADERS)

    async def _reply_readiness(self, _: Request) -> Response:
        parts = await run_in_threadpool(self._readiness.check)
        is_ready = all(state == OK for state in parts.values())
        status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse({"status": OK if is_ready else "unavailable", "parts": parts}, status, headers=_HEADERS)

    async def _reply_metrics(self, request: Request) -> Response:
        try:
            if not self._has_token(request):
                await self._authorize(request)
            content = await run_in_threadpool(self._metrics.render)
        except AuthenticationError as error:
            response = respond(error)
            response.headers["www-authenticate"] = "Bearer"
            response.headers.update(_HEADERS)
            return response
        except CodeRAGError as error:
            response = respond(error)
            response.headers.update(_HEADERS)
            return response
        return Response(content, headers={"content-type": CONTENT_TYPE, **_HEADERS})

    def _has_token(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer" and bool(self._token)
        return is_bearer and hmac.compare_digest(token.strip().encode(), self._token.encode())

    async def _authorize(self, request: Request) -> None:
        principal = await self._identify(request.scope)
        if principal is None:
            hint = "Send 'Authorization: Bearer TOKEN' with the metrics token, or the key of an operator."
            raise AuthenticationError("sign-in is needed", hint=hint)
        is_allowed = principal.may(Action.SERVER_OPERATE)

        def record() -> None:
            self._audit.record(
                principal,
                str(Action.SERVER_OPERATE),
                outcome="allowed" if is_allowed else "denied",
                detail={"route": f"GET {METRICS_PATH}"},
            )

        await run_in_threadpool(record)
        if not is_allowed:
            message = f"the role {principal.role} or the scopes of the key do not allow {Action.SERVER_OPERATE}"
            raise PermissionDeniedError(message, hint="Ask an operator.")
