"""Authentication of requests: programs send a key or token, browsers the cookie of a session."""

import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Scope, Send

from coderag.errors import AuthenticationError, DatabaseUnavailableError, PermissionDeniedError
from coderag.interfaces.server.access_gate import AuditRecorder
from coderag.interfaces.server.session_cookies import SessionCookies
from coderag.interfaces.web.app import SESSION_PATH
from coderag.interfaces.web.sessions import CSRF_HEADER
from coderag.server.access.principal import Principal
from coderag.server.identity.access_tokens import AccessTokenService
from coderag.server.identity.keys import KeyService, parse_prefix
from coderag.server.identity.sessions import AuthenticatedSession, SessionService
from coderag.server.identity.throttle import SignInThrottle
from coderag.server.identity.tokens import MAX_TOKEN_CHARS

SESSION_KEY: Final = "coderag.browser_session"
"""Key of an ASGI scope with the `AuthenticatedSession` of a request that a browser has sent."""

AUTHENTICATE_ACTION: Final = "authenticate"
"""Action of an audit entry about a credential that was refused."""

_OWN_SITES: Final = frozenset({"same-origin", "none"})
_READING_METHODS: Final = frozenset({"GET", "HEAD"})
_PROGRAM_PREFIXES: Final = ("/mcp", "/sse", "/messages")
"""Only keys and tokens open these: agents have them, pages never."""

_ACCESS_TOKEN_DOTS: Final = 2


class RequestAuthenticator:
    """Decider of who sends a request.

    Args:
        keys: Service of keys.
        sessions: Service of sessions.
        throttle: Slows guesses.
        audit: The audit record.
        access_tokens: Service of the provider's access tokens; None without a provider.
        public_url: Address of the server that users see; empty if it is not known.
    """

    def __init__(  # what it works with
        self,
        keys: KeyService,
        sessions: SessionService,
        throttle: SignInThrottle,
        audit: AuditRecorder,
        *,
        access_tokens: AccessTokenService | None = None,
        public_url: str = "",
    ) -> None:
        self.cookies = SessionCookies(public_url)
        self._keys = keys
        self._sessions = sessions
        self._throttle = throttle
        self._audit = audit
        self._access_tokens = access_tokens
        self._public_host = urlsplit(public_url).netloc

    async def identify(self, scope: Scope) -> Principal | None:
        """Identify the sender of a request; None for nobody that is known.

        A cookie whose session has ended counts as none, so that its browser can sign in again.

        Raises:
            AuthenticationError: The key or token is wrong.
            DatabaseUnavailableError: The database does not answer.
            PermissionDeniedError: Another page has sent the cookie, or the CSRF token is missing.
            ProviderUnavailableError: The keys of the provider cannot be fetched.
            QuotaExceededError: Too many sign-ins have failed.
        """
        headers = Headers(scope=scope)
        given = headers.getlist("authorization")
        if given:
            return await run_in_threadpool(self._authenticate_program, given, get_address(scope))
        cookie = self.cookies.read_session(scope)
        if not cookie or _matches_prefix(scope["path"], _PROGRAM_PREFIXES) or _is_sign_in(scope):
            return None
        is_own = self.is_own_page(headers)
        if not is_own and _is_navigation(scope, headers):
            return None  # a link on another page leads here: the page is public, and its own requests follow
        session = await run_in_threadpool(self._authenticate_browser, cookie, get_address(scope))
        if session is None:
            return None
        if not is_own:
            await self._refuse(session.caller, "the request comes from another page", "Use the pages of this server.")
        scope[SESSION_KEY] = session
        if scope["method"] not in _READING_METHODS and not _has_csrf(headers, session):
            hint = f"Send the token of GET {SESSION_PATH} in the header {CSRF_HEADER}."
            await self._refuse(session.caller, "the CSRF token is missing or wrong", hint)
        return session.caller

    def reload(self, principal: Principal) -> Principal:
        """Load the principal of a request that goes on for long again.

        Raises:
            AuthenticationError: Its account or credential has ended.
            DatabaseUnavailableError: The database does not answer.
        """
        return self._keys.loader.reload(principal)

    def wrap_send(self, scope: Scope, send: Send) -> Send:
        """Return a send that replaces the cookie of a session whenever it is time to."""

        async def send_with_cookie(message: Message) -> None:
            session: AuthenticatedSession | None = scope.get(SESSION_KEY)
            if message["type"] == "http.response.start" and session is not None and session.needs_rotation:
                headers = MutableHeaders(scope=message)
                if "set-cookie" not in headers:  # signing in and out set their own
                    await self._rotate(scope, session, headers)
            await send(message)

        return send_with_cookie

    async def _rotate(self, scope: Scope, session: AuthenticatedSession, headers: MutableHeaders) -> None:
        try:
            cookie = await run_in_threadpool(self._sessions.rotate, self.cookies.read_session(scope))
        except DatabaseUnavailableError:
            return  # the present cookie is still good, and the next request tries again
        if cookie is not None:
            carrier = Response()
            self.cookies.set_session(carrier, scope, cookie, session.max_age_s)
            headers.append("set-cookie", carrier.headers["set-cookie"])

    def is_own_page(self, headers: Headers) -> bool:
        """Return whether a request may come from a page of this server.

        Cookies and SameSite ignore the port, so the page of another port would count as ours.
        """
        origin = headers.get("origin")
        is_own_origin = origin is None or _parse_host(origin) in (headers.get("host"), self._public_host or None)
        site: str = headers.get("sec-fetch-site", "same-origin")
        return bool(is_own_origin) and site in _OWN_SITES

    def _authenticate_program(self, given: list[str], address: str) -> Principal:
        token = _parse_bearer(given)
        prefix = parse_prefix(token)
        try:
            if prefix:
                with self._throttle.guard(address, prefix):
                    return self._keys.authenticate(token, address)
            try:
                return self._authenticate_token(token, address)
            except AuthenticationError:
                with self._throttle.guard(address):  # nobody can guess these; their entries in the audit are limited
                    raise
        except AuthenticationError as error:
            detail = _describe_failure(error, address, prefix)
            self._audit.record(None, AUTHENTICATE_ACTION, outcome="denied", detail=detail)
            raise

    def _authenticate_token(self, token: str, address: str) -> Principal:
        if not token or len(token) > MAX_TOKEN_CHARS:
            message = "the Authorization header has no key or token of the scheme Bearer"
            raise AuthenticationError(message, hint="Send 'Authorization: Bearer KEY'.")
        if self._access_tokens is not None and token.count(".") == _ACCESS_TOKEN_DOTS:
            return self._access_tokens.authenticate(token, address)
        return self._keys.authenticate(token, address)  # for the same time and error as an unknown key

    def _authenticate_browser(self, cookie: str, address: str) -> AuthenticatedSession | None:
        try:
            return self._sessions.authenticate(cookie, address)
        except AuthenticationError:
            return None

    async def _refuse(self, caller: Principal, message: str, hint: str) -> None:
        detail = {"error": message, "address": caller.address}
        await run_in_threadpool(self._record_refusal, caller, detail)
        raise PermissionDeniedError(message, hint=hint)

    def _record_refusal(self, caller: Principal, detail: Mapping[str, str]) -> None:
        self._audit.record(caller, AUTHENTICATE_ACTION, outcome="denied", detail=detail)


def get_address(scope: Scope) -> str:
    """Return the network address of the client; empty over a Unix socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _parse_bearer(given: list[str]) -> str:
    """Return the token of ``Authorization`` headers; empty unless it is one of the scheme Bearer."""
    scheme, _, token = given[0].partition(" ")
    return token.strip() if len(given) == 1 and scheme.lower() == "bearer" else ""


def _describe_failure(error: AuthenticationError, address: str, prefix: str) -> dict[str, str]:
    """Describe a failed authentication for the audit, without the secret."""
    detail = {"error": str(error), "address": address}
    return {**detail, "key": prefix} if prefix else detail


def _has_csrf(headers: Headers, session: AuthenticatedSession) -> bool:
    given = headers.get(CSRF_HEADER, "").encode("latin-1", "replace")
    return hmac.compare_digest(given, session.csrf.encode())


def _is_sign_in(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == SESSION_PATH and scope["method"] == "POST"


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    return scope["method"] in _READING_METHODS and headers.get("sec-fetch-mode") == "navigate"


def _parse_host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _matches_prefix(path: str, prefixes: tuple[str, ...]) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes)
