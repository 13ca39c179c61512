"""Routes by which browsers sign in and out: with an API key, or at the OpenID Connect provider."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Protocol, cast
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from coderag import __version__
from coderag.errors import AuthenticationError, CodeRAGError, PermissionDeniedError, QuotaExceededError
from coderag.interfaces.rest.bodies import RequestBody
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.access_gate import AuditRecorder, Outcome
from coderag.interfaces.server.authentication import SESSION_KEY, RequestAuthenticator, get_address
from coderag.interfaces.server.refusal_page import build_refusal
from coderag.interfaces.web.app import SESSION_PATH
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action
from coderag.server.identity.keys import KeyService, parse_prefix
from coderag.server.identity.oidc import CALLBACK_PATH, BegunSignIn, OidcClient
from coderag.server.identity.sessions import AuthenticatedSession, OpenedSession, SessionService
from coderag.server.identity.throttle import SignInThrottle
from coderag.server.settings import ServerSettings

BEGIN_PATH: Final = "/web/oidc/begin"
SIGN_IN_ACTION: Final = "sign_in"
SIGN_OUT_ACTION: Final = "sign_out"

_MAX_KEY_CHARS: Final = 200
_NO_STORE: Final = {"cache-control": "no-store"}
_ERROR_CODE: Final = re.compile("[a-z_]{1,40}")

router: Final = APIRouter(route_class=StrictRoute, include_in_schema=False)

ROUTE_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        f"GET {SESSION_PATH}": Action.PUBLIC,
        f"POST {SESSION_PATH}": Action.PUBLIC,
        f"DELETE {SESSION_PATH}": Action.PUBLIC,
        f"GET {BEGIN_PATH}": Action.PUBLIC,
        f"GET {CALLBACK_PATH}": Action.PUBLIC,
    }
)
"""Action of each route: who is not signed in yet uses them. They write their own entries of the audit."""


class SignInServices(Protocol):
    """Services of a server, as the routes of signing in see them."""

    @property
    def settings(self) -> ServerSettings:
        """Settings in force."""
        ...

    @property
    def authenticator(self) -> RequestAuthenticator:
        """Decider of who sends a request."""
        ...

    @property
    def keys(self) -> KeyService:
        """API keys."""
        ...

    @property
    def sessions(self) -> SessionService:
        """Sessions of browsers."""
        ...

    @property
    def oidc(self) -> OidcClient | None:
        """Client of the provider; None without one."""
        ...

    @property
    def throttle(self) -> SignInThrottle:
        """Slows guesses."""
        ...

    @property
    def audit(self) -> AuditRecorder:
        """The audit record."""
        ...


def _get_services(request: Request) -> SignInServices:
    return cast("SignInServices", request.app.state.server)


_Services = Annotated[SignInServices, Depends(_get_services)]


class KeySignInBody(RequestBody):
    """An API key to sign in with."""

    key: str = Field(min_length=1, max_length=_MAX_KEY_CHARS)


@router.get(SESSION_PATH)
async def read_session(request: Request, server: _Services) -> JSONResponse:
    """Return the session of the browser, or the ways to sign in."""
    session: AuthenticatedSession | None = request.scope.get(SESSION_KEY)
    if session is None:
        return JSONResponse(_describe_methods(server), headers=_NO_STORE)
    return JSONResponse(_describe_session(session), headers=_NO_STORE)


@router.post(SESSION_PATH)
async def sign_in(body: KeySignInBody, request: Request, server: _Services) -> JSONResponse:
    """Sign a browser in with an API key; its session has the limits of the key, and ends with it."""
    if not server.authenticator.is_own_page(request.headers):
        raise PermissionDeniedError("the request comes from another page", hint="Use the page of this server.")
    previous = server.authenticator.cookies.read_session(request.scope)
    opened = await run_in_threadpool(_sign_in_with_key, server, body.key.strip(), get_address(request.scope), previous)
    response = JSONResponse(_describe_session(opened), headers=_NO_STORE)
    _set_session(server, response, request, opened)
    return response


@router.delete(SESSION_PATH)
async def sign_out(request: Request, server: _Services) -> JSONResponse:
    """End the session of the browser."""
    session: AuthenticatedSession | None = request.scope.get(SESSION_KEY)
    cookies = server.authenticator.cookies
    if session is not None:
        await run_in_threadpool(_sign_out, server, session, cookies.read_session(request.scope))
    response = JSONResponse(_describe_methods(server), headers=_NO_STORE)
    cookies.delete_session(response, request.scope)
    return response


@router.get(BEGIN_PATH)
async def begin_oidc(request: Request, server: _Services) -> Response:
    """Send the browser to the provider."""
    client = _get_oidc(server)
    try:
        next_path = request.query_params.get("next", "/")
        begun = await run_in_threadpool(_begin_oidc, server, client, next_path, get_address(request.scope))
    except CodeRAGError as error:
        return build_refusal(error, request.headers)
    response = RedirectResponse(begun.url, 303, _NO_STORE)
    server.authenticator.cookies.set_sign_in(response, request.scope, begun.browser_secret)
    return response


@router.get(CALLBACK_PATH)
async def finish_oidc(request: Request, server: _Services) -> Response:
    """Finish the sign-in of a browser that comes back from the provider."""
    client = _get_oidc(server)
    cookies = server.authenticator.cookies
    try:
        opened, next_path = await run_in_threadpool(
            _finish_oidc,
            server,
            client,
            request.query_params,
            get_address(request.scope),
            (cookies.read_sign_in(request.scope), cookies.read_session(request.scope)),
        )
    except CodeRAGError as error:
        response = build_refusal(error, request.headers)
    else:
        response = RedirectResponse(next_path, 303, _NO_STORE)
        _set_session(server, response, request, opened)
    cookies.delete_sign_in(response, request.scope)
    return response


def _sign_in_with_key(server: SignInServices, key: str, address: str, previous: str) -> OpenedSession:
    prefix = parse_prefix(key)
    try:
        with server.throttle.guard(address, prefix):
            principal = server.keys.authenticate(key, address)
        opened = server.sessions.open_with_key(principal)
    except (AuthenticationError, PermissionDeniedError) as error:
        detail = {"method": "key", "address": address, "key": prefix, "error": str(error)}
        server.audit.record(None, SIGN_IN_ACTION, outcome="denied", detail=detail)
        raise
    _accept(server, opened.caller, previous, {"method": "key", "key": prefix})
    return opened


def _begin_oidc(server: SignInServices, client: OidcClient, next_path: str, address: str) -> BegunSignIn:
    try:
        return client.begin(next_path)
    except CodeRAGError as error:
        _record_failure(server, error, address)
        raise


def _finish_oidc(
    server: SignInServices, client: OidcClient, values: Mapping[str, str], address: str, secrets: tuple[str, str]
) -> tuple[OpenedSession, str]:
    """Finish a sign-in at the provider.

    Args:
        server: Services of the server.
        client: Client of the provider.
        values: Parameters of the callback.
        address: Network address of the browser.
        secrets: Its cookies: that of the sign-in, and that of its session before.
    """
    browser_secret, previous = secrets
    try:
        with server.throttle.guard(address):
            _check_callback(values)
            finished = client.finish(values["state"], values["code"], browser_secret, values.get("iss"))
            opened = server.sessions.open(finished.user.id, address)
    except QuotaExceededError:
        raise
    except CodeRAGError as error:
        _record_failure(server, error, address)
        raise
    _accept(server, opened.caller, previous, {"method": "oidc"})
    return opened, finished.next_path


def _record_failure(server: SignInServices, error: CodeRAGError, address: str) -> None:
    outcome: Outcome = "denied" if isinstance(error, AuthenticationError) else "failed"
    detail = {"method": "oidc", "address": address, "error": str(error)}
    server.audit.record(None, SIGN_IN_ACTION, outcome=outcome, detail=detail)


def _check_callback(values: Mapping[str, str]) -> None:
    fault = values.get("error", "")
    if fault:
        reason = fault if _ERROR_CODE.fullmatch(fault) else "with an error"
        raise AuthenticationError(f"the provider ended the sign-in: {reason}", hint="Begin to sign in again.")
    if not values.get("state") or not values.get("code"):
        raise AuthenticationError("the reply of the provider has no state or code", hint="Begin to sign in again.")


def _accept(server: SignInServices, caller: Principal, previous: str, detail: Mapping[str, str]) -> None:
    """Record a sign-in, and end the session that the browser had before."""
    server.audit.record(caller, SIGN_IN_ACTION, detail=detail)
    if previous:
        server.sessions.close(previous)


def _sign_out(server: SignInServices, session: AuthenticatedSession, cookie: str) -> None:
    server.audit.record(session.caller, SIGN_OUT_ACTION)
    server.sessions.close(cookie)


def _set_session(server: SignInServices, response: Response, request: Request, opened: OpenedSession) -> None:
    server.authenticator.cookies.set_session(response, request.scope, opened.cookie, opened.max_age_s)


def _get_oidc(server: SignInServices) -> OidcClient:
    if server.oidc is None:
        raise HTTPException(404, "sign-in with a provider is not configured")
    return server.oidc


def _describe_methods(server: SignInServices) -> dict[str, Any]:
    has_provider = server.oidc is not None
    return {
        "signed_in": False,
        "is_team_server": True,
        "methods": ["key", "oidc"] if has_provider else ["key"],
        "provider": urlsplit(server.settings.oidc.issuer).hostname if has_provider else "",
    }


def _describe_session(session: AuthenticatedSession | OpenedSession) -> dict[str, Any]:
    caller = session.caller
    return {
        "signed_in": True,
        "is_team_server": True,
        "csrf": session.csrf,
        "expires_at": int(session.expires_at.timestamp()),
        "version": __version__,
        "user": {"id": caller.user_id, "name": caller.name, "role": str(caller.role)},
        "actions": sorted(str(action) for action in Action if caller.may(action)),
    }
