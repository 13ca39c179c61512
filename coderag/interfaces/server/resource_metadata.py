"""Metadata of the server as an OAuth 2.0 protected resource (RFC 9728), by which MCP clients find the sign-in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.server.access.roles import Action

METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
MCP_PATH: Final = "/mcp"

router: Final = APIRouter(route_class=StrictRoute, include_in_schema=False)

ROUTE_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {f"GET {METADATA_PATH}": Action.PUBLIC, f"GET {METADATA_PATH}{MCP_PATH}": Action.PUBLIC}
)
"""Action of each route: who is not signed in yet reads them."""

_HEADERS: Final = {"access-control-allow-origin": "*", "cache-control": "public, max-age=300"}
"""Clients in browsers read the metadata, which is the same for everybody."""


@router.get(METADATA_PATH)
async def read_metadata(request: Request) -> JSONResponse:
    """Return the metadata of the whole server."""
    return _reply(request, "")


@router.get(METADATA_PATH + MCP_PATH)
async def read_mcp_metadata(request: Request) -> JSONResponse:
    """Return the metadata of the endpoint of MCP."""
    return _reply(request, MCP_PATH)


def build_challenge(public_url: str, path: str, *, has_provider: bool, was_refused: bool) -> str:
    """Build the value of ``WWW-Authenticate`` for a request without a valid key or token.

    Args:
        public_url: Address of the server that users see.
        path: Path of the request.
        has_provider: Whether people can sign in with a provider.
        was_refused: Whether the request had a key or token.
    """
    parts = ['error="invalid_token"'] if was_refused else []
    if has_provider:
        suffix = MCP_PATH if path == MCP_PATH or path.startswith(f"{MCP_PATH}/") else ""
        parts.append(f'resource_metadata="{public_url.rstrip("/")}{METADATA_PATH}{suffix}"')
    return f"Bearer {', '.join(parts)}".strip()


def _reply(request: Request, path: str) -> JSONResponse:
    settings: Any = request.app.state.server.settings
    if not settings.oidc.issuer:
        raise HTTPException(404, "sign-in with a provider is not configured", dict(_HEADERS))
    metadata = {
        "resource": settings.public_url.rstrip("/") + path,
        "authorization_servers": [settings.oidc.issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "CodeRAG",
    }
    return JSONResponse(metadata, headers=_HEADERS)
