"""Gate of MCP over HTTP: each tool has an action, and each call an audit entry."""

import json
from dataclasses import replace
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from coderag.errors import CodeRAGError, PermissionDeniedError
from coderag.interfaces.mcp.errors import build_refusal
from coderag.interfaces.mcp.repositories import ROOT_HEADER
from coderag.interfaces.rest.request_runner import VIEW_KEY
from coderag.interfaces.rest.strict_route import MAX_BODY_BYTES
from coderag.interfaces.server.access_gate import AccessGate, RequestSubject, build_subject
from coderag.interfaces.server.actions import TOOL_ACTIONS
from coderag.interfaces.server.mcp_pool import McpPool
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action

_CALL_METHOD: Final = "tools/call"
_READING_METHODS: Final = frozenset({"resources/read", "prompts/get", "completion/complete"})


class McpGate:
    """ASGI app that serves MCP as each caller may use it.

    Args:
        gate: Gate of actions.
        pool: MCP servers.
    """

    def __init__(self, gate: AccessGate, pool: McpPool) -> None:
        self._gate = gate
        self._pool = pool

    async def serve(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. A call that is refused has the refusal as its result, for the model to read.

        Raises:
            CodeRAGError: Another message is refused, or cannot be recorded.
            HTTPException: The body is too large, or a batch.
        """
        body = await _read_body(receive) if scope["method"] == "POST" else b""
        message = _parse_message(body)
        try:
            name, action, subject = _describe_message(message, Headers(scope=scope))
            await self._gate.authorize(principal, action, name, subject, scope)
        except CodeRAGError as error:
            if message.get("method") != _CALL_METHOD or "id" not in message:
                raise
            await JSONResponse(build_refusal(message["id"], error))(scope, receive, send)
            return
        await self._pool.serve(principal, scope[VIEW_KEY], scope, _replay(body, receive), send)


def _parse_message(body: bytes) -> dict[str, Any]:
    """Return a message; an empty one for anything that the SDK will refuse."""
    try:
        message: Any = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    if isinstance(message, list):  # batches ended with protocol 2025-06-18; one could hide a call
        raise HTTPException(400, "batches of messages are not accepted")
    return message if isinstance(message, dict) else {}


def _describe_message(message: dict[str, Any], headers: Headers) -> tuple[str, Action, RequestSubject]:
    """Return name, action and subject of a message; those of calls are of their tool."""
    method, params = message.get("method"), message.get("params")
    params = params if isinstance(params, dict) else {}
    if method != _CALL_METHOD:
        return (
            f"MCP {method if isinstance(method, str) else 'session'}",
            Action.REPOSITORIES_LIST,
            build_subject({}, {}),
        )
    tool = params.get("name")
    tool_action = TOOL_ACTIONS.get(tool) if isinstance(tool, str) else None
    if tool_action is None:
        raise PermissionDeniedError("the tool is not served", hint="tools/list has those that there are.")
    arguments = params.get("arguments")
    values = dict(arguments) if isinstance(arguments, dict) else {}
    repository = values.pop("repository", None) or headers.get(ROOT_HEADER)
    for field in ("query", "name"):
        if isinstance(values.get(field), list):
            values[field] = " ".join(map(str, values[field]))
    if isinstance(repository, str):
        values["root"] = repository
    elif isinstance(repository, list):
        values["repositories"] = repository
    return f"MCP {tool}", tool_action, replace(build_subject(values, {}), takes_only_repository=True)


async def _read_body(receive: Receive) -> bytes:
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise HTTPException(400, "the client has gone")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise HTTPException(413, f"the body has more than {MAX_BODY_BYTES:,} bytes")
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive that gives a body that was read, then what follows."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
