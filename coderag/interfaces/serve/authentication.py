"""Authentication of requests: programs send the token, browsers the cookie of a session."""

import hmac
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from coderag.interfaces.serve.refusals import RefusedError, build_problem
from coderag.interfaces.web.app import SESSION_PATH, find_session
from coderag.interfaces.web.sessions import CSRF_HEADER, WebSession, WebSessions

_READING_METHODS: Final = frozenset({"GET", "HEAD"})

_OPENAPI_PATH: Final = "/openapi.json"
_PROGRAM_PREFIXES: Final = ("/mcp", "/sse", "/messages", "/service")
"""Only the token opens these: agents and the command line have it, pages never."""

_API_PREFIX: Final = "/api"


@dataclass(frozen=True, slots=True)
class Identity:
    """Sender of a request.

    Attributes:
        has_token: Whether the request carries the token.
        session: Session of its cookie; None without one.
    """

    has_token: bool
    session: WebSession | None

    @property
    def is_known(self) -> bool:
        """Return whether the sender has the token or is signed in."""
        return self.has_token or self.session is not None


class Authenticator:
    """Decider of who may send a request.

    Args:
        token: Token of programs.
        sessions: Sessions of browsers; None without a web interface.
    """

    def __init__(self, token: str, sessions: WebSessions | None = None) -> None:
        self._token = token.encode()
        self._sessions = sessions

    def identify(self, scope: Scope, headers: Headers) -> Identity:
        """Identify the sender of a request."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_equal = hmac.compare_digest(token.strip().encode("latin-1", "replace"), self._token)
        session = find_session(self._sessions, scope) if self._sessions is not None else None
        return Identity(scheme.lower() == "bearer" and is_equal, session)

    def check(self, identity: Identity, scope: Scope, headers: Headers) -> None:
        """Check that a request may be served.

        Raises:
            RefusedError: It has neither the token nor a session, where one is needed, or a foreign page sent it.
        """
        if identity.has_token or (self._sessions is not None and _is_public(scope)):
            return
        session = identity.session
        if session is None or _matches_prefix(scope["path"], _PROGRAM_PREFIXES):
            hint = "Send 'Authorization: Bearer TOKEN'; 'coderag serve --status --show-token' shows it."
            if self._sessions is not None and "sec-fetch-mode" in headers:
                hint = "Run 'coderag web' to sign in."
            problem = build_problem(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong", hint)
            raise RefusedError(problem, {"www-authenticate": "Bearer"})
        _check_own_page(headers)
        if scope["method"] not in _READING_METHODS:
            given = headers.get(CSRF_HEADER, "").encode("latin-1", "replace")
            if not hmac.compare_digest(given, session.csrf.encode()):
                hint = f"Send the token of GET {SESSION_PATH} in the header {CSRF_HEADER}."
                raise RefusedError(build_problem(HTTPStatus.FORBIDDEN, "the CSRF token is missing or wrong", hint))


def _check_own_page(headers: Headers) -> None:
    """Refuse requests of other pages. Cookies and SameSite ignore the port, so a page on another port counts as ours."""
    origin = headers.get("origin")
    is_own_origin = origin is None or urlsplit(origin).netloc == headers.get("host")
    if not is_own_origin or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusedError(build_problem(HTTPStatus.FORBIDDEN, "the request comes from another page"))


def _is_public(scope: Scope) -> bool:
    """Return whether a request needs no sign-in: the page with its files, and signing in itself."""
    path = scope["path"]
    if path == SESSION_PATH:
        return scope["method"] in ("GET", "POST")
    is_private = path == _OPENAPI_PATH or _matches_prefix(path, (*_PROGRAM_PREFIXES, _API_PREFIX, "/web"))
    return scope["method"] in _READING_METHODS and not is_private


def _matches_prefix(path: str, prefixes: tuple[str, ...]) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes)
