"""ASGI app of the web interface: the page, its files, and sign-in."""

from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Scope

from coderag import __version__
from coderag.interfaces.web.sessions import SESSION_S, WebSession, WebSessions, build_cookie_name, parse_cookie
from coderag.interfaces.web.static_files import ASSET_PREFIX, PAGE, StaticFile, StaticFiles

SESSION_PATH: Final = "/web/session"

SECURITY_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_MAX_CODE_CHARS: Final = 100
_KEEP_FOREVER: Final = "public, max-age=31536000, immutable"
_REVALIDATE: Final = "no-cache"


def make_page_app() -> Starlette:
    """Make the app that serves the page and its files.

    It answers every path that is no file with the page, whose script reads the path: each view has an address. Programs,
    which do not ask for HTML, get 404.
    """
    static_files = StaticFiles()

    async def serve_page(request: Request) -> Response:
        name = request.url.path.lstrip("/")
        file = static_files.find(name)
        is_view = "text/html" in request.headers.get("accept", "") and not name.startswith(ASSET_PREFIX)
        if file is None and name and not is_view:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        page = file or static_files.find(PAGE)
        if page is None:
            return PlainTextResponse("The web interface is not part of this installation.\n", HTTPStatus.NOT_FOUND)
        return _build_file_response(page, request.headers, is_asset=name.startswith(ASSET_PREFIX))

    return Starlette(routes=[Route("/{path:path}", serve_page, methods=["GET", "HEAD"])])


def make_web_app(sessions: WebSessions) -> Starlette:
    """Make the app that serves the page, as `make_page_app`, and signs browsers in.

    Args:
        sessions: Sessions of browsers.
    """

    async def read_session(request: Request) -> Response:
        session = find_session(sessions, request.scope)
        return _build_session_response(session) if session else JSONResponse({"signed_in": False})

    async def sign_in(request: Request) -> Response:
        session = sessions.exchange_code(await _read_code(request))
        if session is None:
            raise HTTPException(HTTPStatus.FORBIDDEN, "the code is unknown, used or too old")
        response = _build_session_response(session)
        response.set_cookie(
            build_cookie_name(_find_port(request.scope)),
            session.value,
            max_age=SESSION_S,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    async def sign_out(request: Request) -> Response:
        response = JSONResponse({"signed_in": False})
        response.delete_cookie(build_cookie_name(_find_port(request.scope)), httponly=True, samesite="strict")
        return response

    return Starlette(
        routes=[
            Route(SESSION_PATH, read_session, methods=["GET"]),
            Route(SESSION_PATH, sign_in, methods=["POST"]),
            Route(SESSION_PATH, sign_out, methods=["DELETE"]),
            Mount("/", make_page_app()),
        ]
    )


def find_session(sessions: WebSessions, scope: Scope) -> WebSession | None:
    """Return the session whose cookie a request carries; None if it is not signed in."""
    value = parse_cookie(Headers(scope=scope).get("cookie", ""), build_cookie_name(_find_port(scope)))
    return sessions.read_session(value) if value else None


def _find_port(scope: Scope) -> int:
    server = scope.get("server")
    return (server[1] or 0) if server else 0


async def _read_code(request: Request) -> str:
    try:
        body = await request.json()
        code = body["code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the body must be an object with a code") from error
    if not isinstance(code, str) or len(code) > _MAX_CODE_CHARS:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the code is not a text of at most 100 characters")
    return code


def _build_session_response(session: WebSession) -> Response:
    reply = {"signed_in": True, "csrf": session.csrf, "expires_at": session.expires_at, "version": __version__}
    return JSONResponse(reply, headers={"cache-control": "no-store"})


def _build_file_response(file: StaticFile, headers: Headers, *, is_asset: bool) -> Response:
    is_gzip = "gzip" in headers.get("accept-encoding", "")
    response = Response(file.content if is_gzip else file.decompress(), media_type=file.media_type)
    response.headers.update(SECURITY_HEADERS)
    response.headers["cache-control"] = _KEEP_FOREVER if is_asset else _REVALIDATE
    response.headers["vary"] = "accept-encoding"
    if is_gzip:
        response.headers["content-encoding"] = "gzip"
    return response
