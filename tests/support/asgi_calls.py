"""Requests to an ASGI app without a client library, which costs more than many of the replies."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

_TIMEOUT_S = 120


@dataclass(frozen=True)
class AsgiReply:
    """Reply of an app."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def get(self, name: bytes) -> str:
        """Return the value of a header; empty without it."""
        return next((value.decode() for key, value in self.headers if key.lower() == name), "")


async def call_app(
    app: Any, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> AsgiReply:
    """Send a request and return its reply.

    Args:
        app: The app.
        method, path: Method and path, which may have a query.
        body: Value that is sent as JSON; None sends nothing.
        headers: Headers beside those of the body.
    """
    address, _, query = path.partition("?")
    content = b"" if body is None else json.dumps(body).encode()
    fields = [(b"host", b"127.0.0.1"), *((name.encode(), value.encode()) for name, value in (headers or {}).items())]
    if body is not None:
        fields += [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(address),
        "raw_path": address.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": fields,
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    messages = [{"type": "http.request", "body": content, "more_body": False}]
    started: dict[str, Any] = {}
    parts: list[bytes] = []
    has_gone = asyncio.Event()

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await has_gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
            return
        if part := message.get("body", b""):
            parts.append(part)
        if not message.get("more_body"):
            has_gone.set()

    await asyncio.wait_for(app(scope, receive, send), _TIMEOUT_S)
    return AsgiReply(started["status"], tuple(started.get("headers", ())), b"".join(parts))
