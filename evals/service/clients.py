"""Clients of the service with one interface: REST, MCP over stdio, MCP over HTTP."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from coderag.interfaces.mcp.replies import DATA_KEY

_HOST: Final = "http://localhost"
_TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class LocatedLines:
    """Lines that a reply cites; `text` is their content in the reply, None if it has none."""

    path: str
    start_line: int
    end_line: int
    text: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Outcome of a call.

    Attributes:
        error: Error message of the server; empty on success.
        caused_by_caller: Whether the server blames the caller, for example for an unknown name.
    """

    places: Sequence[LocatedLines] = ()
    error: str = ""
    caused_by_caller: bool = False


class LoadClient(Protocol):
    """Client that makes the calls of the load."""

    name: str

    async def call(self, what: str, arguments: Mapping[str, Any]) -> Reply:
        """Make a call; `what` is search, context, symbol, status or index."""
        ...


class RestClient:
    """REST client over the service's Unix socket."""

    def __init__(self, client: httpx.AsyncClient, root: Path, number: int) -> None:
        self.name = f"rest {number}"
        self._client = client
        self._root = str(root)

    async def call(self, what: str, arguments: Mapping[str, Any]) -> Reply:
        """Make a call over HTTP."""
        match what:
            case "status":
                response = await self._client.get("/api/v1/status", params={"root": self._root})
            case "symbol":
                body = {"root": self._root, "name": arguments["name"]}
                response = await self._client.post("/api/v1/definition", json=body)
            case "context":
                body = {"root": self._root, "query": arguments["query"], "token_budget": 3_000}
                response = await self._client.post("/api/v1/context", json=body)
            case _:
                response = await self._client.post(f"/api/v1/{what}", json={"root": self._root, **arguments})
        if response.is_error:
            return Reply(error=response.text[:300], caused_by_caller=response.status_code in {404, 409, 422})
        return Reply(list(_parse_rest_places(response.json())))


class McpClient:
    """MCP client."""

    def __init__(self, client: Client, root: Path, name: str) -> None:
        self.name = name
        self._client = client
        self._root = str(root)

    async def call(self, what: str, arguments: Mapping[str, Any]) -> Reply:
        """Call the tool."""
        result = await self._client.call_tool(f"coderag_{what}", {**arguments, "repository": self._root})
        if result.is_error:
            text = " ".join(getattr(part, "text", "") for part in result.content)
            return Reply(error=text[:300], caused_by_caller=True)
        return Reply(list(_parse_mcp_places((result.meta or {}).get(DATA_KEY, {}))))


@asynccontextmanager
async def connect_rest(socket: str, token: str, root: Path, number: int) -> AsyncIterator[RestClient]:
    """Yield a REST client over the Unix socket of the service."""
    transport = httpx.AsyncHTTPTransport(uds=socket)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url=_HOST, headers=headers, timeout=_TIMEOUT_S) as client:
        yield RestClient(client, root, number)


@asynccontextmanager
async def connect_stdio_mcp(
    command: str, environment: Mapping[str, str], root: Path, number: int
) -> AsyncIterator[McpClient]:
    """Yield an MCP client of a ``coderag mcp`` process of its own."""
    server = StdioServerParameters(command=command, args=["mcp", "-C", str(root)], env=dict(environment))
    async with Client(stdio_client(server), mode="legacy" if number % 2 else "auto") as client:
        yield McpClient(client, root, f"stdio {number}")


@asynccontextmanager
async def connect_http_mcp(socket: str, token: str, root: Path, number: int) -> AsyncIterator[McpClient]:
    """Yield an MCP client over streamable HTTP."""
    transport = httpx2.AsyncHTTPTransport(uds=socket)
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=_TIMEOUT_S) as http,
        Client(
            streamable_http_client(f"{_HOST}/mcp", http_client=http), mode="legacy" if number % 2 else "auto"
        ) as client,
    ):
        yield McpClient(client, root, f"http {number}")


def _parse_rest_places(reply: Mapping[str, Any]) -> Sequence[LocatedLines]:
    hits = [
        LocatedLines(hit["path"], hit["start_line"], hit["end_line"], hit["text"], hit["name"])
        for hit in reply.get("hits", ())
    ]
    items = [
        LocatedLines(
            item["path"], item["start_line"], item["end_line"], item["text"] if item["detail"] == "full" else None
        )
        for section in reply.get("sections", ())
        for item in section["items"]
    ]
    return [*hits, *items]


def _parse_mcp_places(reply: Any) -> list[LocatedLines]:  # noqa: ANN401  # replies nest to any depth
    """Return all cited lines of structured content, at any depth."""
    if isinstance(reply, Mapping):
        own = []
        if {"path", "start_line", "end_line"} <= reply.keys():
            text = reply.get("code") if reply.get("detail", "full") == "full" else None
            own = [LocatedLines(reply["path"], reply["start_line"], reply["end_line"], text, reply.get("name", ""))]
        return own + [place for value in reply.values() for place in _parse_mcp_places(value)]
    if isinstance(reply, list):
        return [place for value in reply for place in _parse_mcp_places(value)]
    return []
