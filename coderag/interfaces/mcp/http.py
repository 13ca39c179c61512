"""MCP over HTTP."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from coderag.interfaces.mcp.server import Profile, make_server

if TYPE_CHECKING:
    from coderag.workspace.workspace_view import WorkspaceView

LOOPBACK_HOSTS = ("127.0.0.1", "127.0.0.1:*", "localhost", "localhost:*", "[::1]", "[::1]:*")
"""Values of ``Host`` in requests from this machine."""

LOOPBACK_ORIGINS = tuple(f"{scheme}://{host}" for scheme in ("http", "https") for host in LOOPBACK_HOSTS)


def make_http(
    workspace: "WorkspaceView | Callable[[], WorkspaceView]",
    *,
    profile: Profile = "all",
    tools: Collection[str] | None = None,
    allowed_hosts: Sequence[str] | None = LOOPBACK_HOSTS,
    allowed_origins: Sequence[str] = LOOPBACK_ORIGINS,
) -> Starlette:
    """Make the ASGI application: streamable HTTP at ``/mcp``, and SSE for old clients at ``/sse`` with ``/messages/``.

    Its lifespan must run: a program that takes over ``app.routes`` enters ``app.router.lifespan_context(app)`` itself.
    The app checks no token; wrap it where others can reach it.

    Args:
        workspace, profile, tools: As in `make_server`.
        allowed_hosts: Accepted values of ``Host``, ``name:*`` for any port, against DNS rebinding. None if a wrapper
            checks ``Host`` and ``PatternOrigin``.
        allowed_origins: Accepted values of ``PatternOrigin``; a request without one is accepted.
    """
    server = make_server(workspace, profile=profile, tools=tools)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=allowed_hosts is not None,
        allowed_hosts=list(allowed_hosts or ()),
        allowed_origins=list(allowed_origins),
    )
    app = server.streamable_http_app(streamable_http_path="/mcp", transport_security=security)
    sse_app = server.sse_app(sse_path="/sse", message_path="/messages/", transport_security=security)
    app.router.routes.extend(sse_app.routes)
    return app
