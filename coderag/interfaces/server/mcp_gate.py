"""Gate of MCP over HTTP: each tool has an action, and each call an audit entry."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeGuard
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from coderag.errors import CodeRAGError, PermissionDeniedError
from coderag.interfaces.mcp.errors import build_error, build_refusal
from coderag.interfaces.mcp.repositories import ROOT_HEADER
from coderag.interfaces.rest.request_runner import VIEW_KEY
from coderag.interfaces.rest.strict_route import MAX_BODY_BYTES, parse_strictly
from coderag.interfaces.server.access_gate import AccessGate, RequestSubject, build_subject
from coderag.interfaces.server.actions import TOOL_ACTIONS
from coderag.interfaces.server.mcp_pool import McpPool
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action

_CALL_METHOD: Final = "tools/call"
_URI_PREFIX: Final = "coderag://"


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
            CodeRAGError: A message that is no request of content is refused, or cannot be recorded.
            HTTPException: The body is too large, no strict JSON, or a batch.
        """
        body = await _read_body(receive) if scope["method"] == "POST" else b""
        message = _parse_message(body)
        try:
            name, action, subject = _describe_message(message, Headers(scope=scope))
            await self._gate.authorize(principal, action, name, subject, scope)
        except CodeRAGError as error:
            method = message.get("method")
            if "id" not in message or not (method == _CALL_METHOD or _is_reading(method)):
                raise
            build = build_refusal if method == _CALL_METHOD else build_error
            await JSONResponse(build(message["id"], error))(scope, receive, send)
            return
        await self._pool.serve(principal, scope[VIEW_KEY], scope, _replay(body, receive), send)


def _parse_message(body: bytes) -> dict[str, Any]:
    """Return a message; an empty one without a body, and for a value that the SDK will refuse.

    What cannot be read here is not passed on: the SDK might read a call in it.
    """
    message: Any = parse_strictly(body) if body else {}
    if isinstance(message, list):  # batches ended with protocol 2025-06-18; one could hide a call
        raise HTTPException(400, "batches of messages are not accepted")
    return message if isinstance(message, dict) else {}


def _describe_message(message: dict[str, Any], headers: Headers) -> tuple[str, Action, RequestSubject]:
    """Return name, action and subject of a message; those of calls are of their tool."""
    method, params = message.get("method"), message.get("params")
    params = params if isinstance(params, dict) else {}
    if method == _CALL_METHOD:
        return _describe_call(params, headers)
    values = _READING_METHODS[method](params) if _is_reading(method) else None
    name = f"MCP {method if isinstance(method, str) else 'session'}"
    if values is None:
        return name, Action.REPOSITORIES_LIST, build_subject({}, {})
    return name, Action.REPOSITORY_READ, _build_reading_subject(values, headers)


def _describe_call(params: dict[str, Any], headers: Headers) -> tuple[str, Action, RequestSubject]:
    tool = params.get("name")
    tool_action = TOOL_ACTIONS.get(tool) if isinstance(tool, str) else None
    if tool_action is None:
        raise PermissionDeniedError("the tool is not served", hint="tools/list has those that there are.")
    return f"MCP {tool}", tool_action, _build_reading_subject(_get_mapping(params, "arguments"), headers)


def _build_reading_subject(arguments: Mapping[str, Any], headers: Headers) -> RequestSubject:
    """Build the subject of a message from its arguments, in which `repository` names what it reads."""
    values = {name: value for name, value in arguments.items() if name not in ("root", "repositories")}
    repository = values.pop("repository", None) or headers.get(ROOT_HEADER)
    for field in ("query", "name"):
        if isinstance(values.get(field), list):
            values[field] = " ".join(map(str, values[field]))
    if isinstance(repository, str):
        values["root"] = repository
    elif isinstance(repository, list):
        values["repositories"] = repository
    return replace(build_subject(values, {}), takes_only_repository=True)


def _parse_resource(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a resource of a repository; None for one of no repository."""
    uri = params.get("uri")
    name, has_part, part = str(uri).removeprefix(_URI_PREFIX).partition("/")
    return {"repository": unquote(name), "text": unquote(part)} if has_part else None


def _parse_prompt(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a prompt."""
    arguments = _get_mapping(params, "arguments")
    return {**arguments, "text": arguments.get("traceback") or arguments.get("path")}


def _parse_completion(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a completion from the contents of a repository; None for one from its name."""
    argument = _get_mapping(params, "argument")
    if argument.get("name") == "repository":
        return None
    known = _get_mapping(_get_mapping(params, "context"), "arguments")
    return {"repository": known.get("repository"), "text": argument.get("value")}


def _get_mapping(params: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = params.get(name)
    return value if isinstance(value, dict) else {}


_READING_METHODS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]]] = MappingProxyType(
    {"resources/read": _parse_resource, "prompts/get": _parse_prompt, "completion/complete": _parse_completion}
)
"""Parser of the arguments of each method that replies with contents of a repository, beside calls."""


def _is_reading(method: object) -> TypeGuard[str]:
    return isinstance(method, str) and method in _READING_METHODS


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
