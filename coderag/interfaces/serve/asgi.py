"""The service over HTTP as one ASGI app: REST, MCP and management routes."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Literal

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from coderag import __version__
from coderag.errors import CodeRAGError
from coderag.interfaces.mcp.http import make_http
from coderag.interfaces.rest.app import make_app
from coderag.interfaces.rest.problems import respond
from coderag.interfaces.serve.activity import Activity
from coderag.interfaces.web.app import make_web_app
from coderag.interfaces.web.sessions import WebSessions
from coderag.service.client import API_PREFIX, REPOSITORY_PATH, STATUS_PATH, STOP_PATH, WEB_PATH
from coderag.service.environment import compute_digest
from coderag.workspace.workspace import Workspace

_MCP_PATHS: Final = ("/mcp", "/sse", "/messages")
_SERVICE_PREFIX: Final = "/service/"
_OPENAPI_PATH: Final = "/openapi.json"
_MAX_PORT: Final = 65_535

OpenWeb = Callable[[int | None], Awaitable[str]]
"""Opens the web interface on a port of the loopback, unless it is open; None takes the usual one. Returns its address."""


@dataclass(frozen=True, slots=True)
class ServiceApp:
    """The ASGI app of the service.

    Attributes:
        app: The whole app, without a guard.
        apps_with_lifespan: Parts with a lifespan.
    """

    app: ASGIApp
    apps_with_lifespan: tuple[Starlette, ...]

    @asynccontextmanager
    async def run_lifespan(self) -> AsyncIterator[None]:
        """Run the lifespans of all parts."""
        async with AsyncExitStack() as stack:
            for app in self.apps_with_lifespan:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield


def compose(
    workspace: Workspace,
    activity: Activity,
    *,
    request_s: float,
    tools: Literal["all", "single"],
    stop: Callable[[], None],
    sessions: WebSessions,
    open_web: OpenWeb,
) -> ServiceApp:
    """Compose the ASGI app of the service.

    Args:
        workspace: The repositories.
        activity: Counter of requests and sessions.
        request_s: Timeout of a request in seconds.
        tools: Tools that agents get.
        stop: Stops the service.
        sessions: Sessions of browsers.
        open_web: Opens the web interface.
    """
    mcp = make_http(workspace, profile=tools, allowed_hosts=None)  # the guard checks host names
    rest = make_app(workspace, request_s=request_s)
    service_routes = Starlette(
        routes=[
            Route(STATUS_PATH, partial(_handle_status, workspace, activity), methods=["GET"]),
            Route(REPOSITORY_PATH, partial(_handle_repository, workspace), methods=["POST"]),
            Route(STOP_PATH, partial(_handle_stop, stop), methods=["POST"]),
            Route(WEB_PATH, partial(_handle_web, sessions, open_web), methods=["POST"]),
        ]
    )
    web = make_web_app(sessions)

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if any(path == prefix or path.startswith(f"{prefix}/") for prefix in _MCP_PATHS):
            await mcp(scope, receive, send)
        elif path.startswith(_SERVICE_PREFIX):
            await service_routes(scope, receive, send)
        elif path in (_OPENAPI_PATH, API_PREFIX) or path.startswith(f"{API_PREFIX}/"):
            await rest(scope, receive, send)
        else:
            await web(scope, receive, send)

    return ServiceApp(dispatch, (rest, mcp))


async def _handle_status(workspace: Workspace, activity: Activity, _: Request) -> Response:
    entries = await run_in_threadpool(workspace.list_repositories)
    status: dict[str, Any] = {
        "pid": os.getpid(),
        "version": __version__,
        "requests": activity.total,
        "under_way": activity.requests,
        "sessions": activity.sessions,
        "idle_s": round(activity.idle_s, 1),
        "repositories": [entry.root for entry in entries if entry.is_open],
    }
    return JSONResponse(status)


async def _handle_repository(workspace: Workspace, request: Request) -> Response:
    """Reply with what a command must know to use a repository through the service.

    That is which settings are restricted, and a digest of the environment variables that the settings name.
    """
    try:
        body = await request.json()
        root, names = str(body["root"]), [str(name) for name in body["variables"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from error
    if not all(name.isascii() and name.isidentifier() for name in names):  # others cannot be named by settings
        raise HTTPException(HTTPStatus.BAD_REQUEST)
    try:
        repository = await run_in_threadpool(workspace.open_repository, root)
    except CodeRAGError as error:
        return respond(error)
    restrictions = [{"key": item.key, "place": item.place} for item in repository.engine.settings.restrictions]
    return JSONResponse({"restrictions": restrictions, "digest": compute_digest(names)})


async def _handle_stop(stop: Callable[[], None], _: Request) -> Response:
    stop()
    return JSONResponse({"stopping": True})


async def _handle_web(sessions: WebSessions, open_web: OpenWeb, request: Request) -> Response:
    """Open the web interface and reply with its address and a one-time code that signs in a browser."""
    try:
        port = (await request.json()).get("port")
    except (ValueError, AttributeError, RecursionError) as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from error
    if port is not None and (not isinstance(port, int) or not 0 <= port <= _MAX_PORT):
        raise HTTPException(HTTPStatus.BAD_REQUEST)
    try:
        url = await open_web(port)
    except CodeRAGError as error:
        return respond(error)
    return JSONResponse({"url": url, "code": sessions.issue_code()})
