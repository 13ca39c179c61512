"""The team server over HTTP as one ASGI app: REST, MCP, sign-in, webhooks and the web interface."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coderag.errors import AuthenticationError, CodeRAGError, ServiceBusyError
from coderag.interfaces.rest.app import PREFIX, make_app
from coderag.interfaces.rest.problems import build_internal_problem, respond, to_response
from coderag.interfaces.rest.strict_route import GATE_KEY
from coderag.interfaces.serve.bounded_requests import BoundedRequests
from coderag.interfaces.serve.refusals import build_problem
from coderag.interfaces.server import resource_metadata, sign_in_routes, webhook_routes
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY, AccessGate, ViewLoader
from coderag.interfaces.server.actions import REST_ACTIONS
from coderag.interfaces.server.admin import router as administration
from coderag.interfaces.server.authentication import RequestAuthenticator, get_address
from coderag.interfaces.server.hosts import PublicHosts
from coderag.interfaces.server.identity_middleware import IdentityMiddleware
from coderag.interfaces.server.mcp_gate import McpGate
from coderag.interfaces.server.mcp_pool import McpPool
from coderag.interfaces.server.request_shares import RequestShares
from coderag.interfaces.web.app import make_page_app
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action
from coderag.server.context import ServerContext
from coderag.server.identity.access_tokens import AccessTokenService
from coderag.server.identity.throttle import to_network
from coderag.server.webhooks import MAX_BODY_BYTES

_OPENAPI_PATH: Final = "/openapi.json"
_HSTS: Final = "max-age=31536000"
_ROUTED_PREFIXES: Final = (f"{PREFIX}/", "/hooks/", "/web/", resource_metadata.METADATA_PATH)

ROUTE_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        **REST_ACTIONS,
        **administration.ROUTE_ACTIONS,
        **webhook_routes.ROUTE_ACTIONS,
        **sign_in_routes.ROUTE_ACTIONS,
        **resource_metadata.ROUTE_ACTIONS,
    }
)
"""Action of every route, by its method and path below the prefix of its app."""


@dataclass(frozen=True, slots=True)
class TeamServices(ServerContext):
    """Services of a process, with those that only HTTP has.

    Attributes:
        authenticator: Decider of who sends a request.
    """

    authenticator: RequestAuthenticator


class TeamApp:
    """ASGI app of the team server.

    Args:
        server: Services of the process.
        stopping: Set when the process ends.

    Attributes:
        identify: Returns the principal of a request.
    """

    def __init__(self, server: ServerContext, stopping: asyncio.Event) -> None:
        self._server = services = _add_authenticator(server)
        self.identify = services.authenticator.identify
        self._hosts = PublicHosts(server.settings)
        self._is_encrypted = server.settings.public_url.startswith("https://") or server.settings.tls_cert is not None
        self._gate = AccessGate(ViewLoader(server.workspace, server.load_visible), server.audit, ROUTE_ACTIONS)
        self._pool = McpPool()
        self._mcp = McpGate(self._gate, self._pool)
        limits = server.settings.limits
        self._rest = make_app(server.workspace, request_s=limits.request_s, routers=(administration.router,))
        for module in (webhook_routes, sign_in_routes, resource_metadata):
            self._rest.include_router(module.router)
        self._rest.state.server = services
        self._page = make_page_app()
        self._slots = asyncio.Semaphore(limits.concurrent_requests)
        self._shares = RequestShares(limits.account_concurrent_requests)
        identified = IdentityMiddleware(
            self._dispatch,
            services.authenticator,
            public_url=server.settings.public_url,
            has_provider=server.oidc is not None,
        )
        # The routes time out first, with a better message.
        self._serve: ASGIApp = BoundedRequests(identified, limits.request_s + 5, MAX_BODY_BYTES, stopping)

    @asynccontextmanager
    async def run_lifespan(self) -> AsyncIterator[None]:
        """Run the lifespans of all parts."""
        async with self._rest.router.lifespan_context(self._rest):
            try:
                yield
            finally:
                await self._pool.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it with a problem."""
        if scope["type"] != "http":
            return  # WebSockets are refused by no reply
        has_begun = False

        async def note_begin(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                self._add_headers(message)
            await send(message)

        try:
            await self._route(scope, receive, note_begin)
        except Exception as error:
            if has_begun:
                raise
            await _build_refusal(error)(scope, receive, note_begin)

    def _add_headers(self, message: Message) -> None:
        """Add the headers that keep browsers from storing or guessing at a reply; those of the page stay."""
        headers = MutableHeaders(scope=message)
        headers.setdefault("cache-control", "no-store")
        headers.setdefault("x-content-type-options", "nosniff")
        if self._is_encrypted:
            headers.setdefault("strict-transport-security", _HSTS)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._hosts.check(Headers(scope=scope))
        if self._slots.locked():
            raise ServiceBusyError("too many concurrent requests", hint="Try again in a moment.")
        async with self._slots:
            await self._serve(scope, receive, send)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: Principal | None = scope[PRINCIPAL_KEY]
        caller = to_network(get_address(scope)) if principal is None else principal.user_id
        with self._shares.hold(caller):
            await self._serve_caller(principal, scope, receive, send)

    async def _serve_caller(self, principal: Principal | None, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        is_mcp = path == resource_metadata.MCP_PATH
        if not is_mcp and path != _OPENAPI_PATH and not path.startswith(_ROUTED_PREFIXES):
            await self._page(scope, receive, send)
            return
        scope[GATE_KEY] = self._gate
        try:
            if principal is not None:
                await run_in_threadpool(partial(self._server.limits.take, principal))
            elif is_mcp or path == _OPENAPI_PATH:
                raise AuthenticationError("sign-in is needed", hint="Send 'Authorization: Bearer KEY', or sign in.")
            if is_mcp and principal is not None:
                await self._mcp.serve(principal, scope, receive, send)
                return
        except CodeRAGError as error:  # here, where the challenge is added
            await respond(error)(scope, receive, send)
            return
        await self._rest(scope, receive, send)


def _build_refusal(error: Exception) -> Response:
    if isinstance(error, CodeRAGError):
        return respond(error)
    if isinstance(error, HTTPException):
        return to_response(build_problem(HTTPStatus(error.status_code), error.detail), error.headers)
    return to_response(build_internal_problem(error))


def _add_authenticator(server: ServerContext) -> TeamServices:
    tokens = None
    if server.oidc is not None:
        tokens = AccessTokenService(server.database, server.loader, server.oidc.verifier, server.settings.oidc.issuer)
    authenticator = RequestAuthenticator(
        server.keys,
        server.sessions,
        server.throttle,
        server.audit,
        access_tokens=tokens,
        public_url=server.settings.public_url,
    )
    values = {field.name: getattr(server, field.name) for field in fields(ServerContext)}
    return TeamServices(**values, authenticator=authenticator)
