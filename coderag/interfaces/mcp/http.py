"""`make_http`: the MCP server over HTTP."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from coderag.interfaces.mcp.server import Profile, make_server

if TYPE_CHECKING:
    from coderag.workspace.workspace import Workspace

LOOPBACK_HOSTS = ("127.0.0.1", "127.0.0.1:*", "localhost", "localhost:*", "[::1]", "[::1]:*")
"""What a request from this machine may have as its ``Host``."""

LOOPBACK_ORIGINS = tuple(f"{scheme}://{host}" for scheme in ("http", "https") for host in LOOPBACK_HOSTS)


def make_http(
    workspace: "Workspace | Callable[[], Workspace]",
    *,
    profile: Profile = "all",
    allowed_hosts: Sequence[str] | None = LOOPBACK_HOSTS,
    allowed_origins: Sequence[str] = LOOPBACK_ORIGINS,
) -> Starlette:
    """Return an ASGI application: streamable HTTP at ``/mcp``, and for old clients SSE at ``/sse`` with ``/messages/``.

    Its lifespan must run, as it does under a server of its own; a program that takes over ``app.routes`` enters
    ``app.router.lifespan_context(app)`` itself. It asks for no token: what is around it does.

    Args:
        workspace: As of `make_server`.
        profile: What agents get.
        allowed_hosts: Values of ``Host`` that are served, ``name:*`` for any port: a page of another site that had its
            name point here is refused. None if what is around it looks at ``Host`` and ``Origin``.
        allowed_origins: Values of ``Origin`` that are served, likewise; a request without one is.
    """
    server = make_server(workspace, profile=profile)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=allowed_hosts is not None,
        allowed_hosts=list(allowed_hosts or ()),
        allowed_origins=list(allowed_origins),
    )
    app = server.streamable_http_app(streamable_http_path="/mcp", transport_security=security)
    sse_app = server.sse_app(sse_path="/sse", message_path="/messages/", transport_security=security)
    app.router.routes.extend(sse_app.routes)
    return app
