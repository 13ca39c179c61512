"""MCP session over a stream of lines, as spoken on the service's MCP socket and forwarded by ``coderag mcp``.

The client's first line is a hello, a JSON object::

    {"coderag": 1, "token": "...", "root": "/path/of/the/repository", "tools": "all"}

``token`` authenticates the client, ``root`` is the default repository of calls, ``tools`` is ``all`` or ``single``. The
reply is ``{"coderag": 1, "ok": true}``, or ``{"coderag": 1, "ok": false, "error": "..."}`` and the end of the stream.
MCP messages follow, one per line, in both directions.
"""

import asyncio
import hmac
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from coderag.errors import CodeRAGError
from coderag.interfaces.mcp.framing import (
    INVALID_REQUEST,
    LINE_TOO_LONG_REPLY,
    MAX_LINE_BYTES,
    PARSE_ERROR,
    LineCutter,
    encode_error,
    get_message_id,
)
from coderag.interfaces.mcp.server import make_server

if TYPE_CHECKING:
    from coderag.config.settings import Settings
    from coderag.workspace.workspace import Workspace

logger = logging.getLogger(__name__)

HELLO_VERSION: Final = 1
MAX_HELLO_BYTES: Final = 1 << 16
"""Maximum size of a hello in bytes; its sender is not authenticated yet."""

HELLO_TIMEOUT_S: Final = 10.0
"""Seconds within which a client must send its hello."""

WARM_DELAY_S: Final = 1.0
"""Seconds without a reply after which the repository of a session is opened anyway."""

_READ_BYTES: Final = 1 << 16


class HelloError(Exception):
    """A rejected client; the message is sent to it."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a client.

    Attributes:
        root: Default repository of calls.
        tools: Tools that the client gets.
    """

    root: Path
    tools: Literal["all", "single"]


async def serve_lines(
    workspace: "Workspace | Callable[[], Workspace]",
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    token: str | None,
) -> None:
    """Serve one MCP session until the client disconnects; then cancel its requests and close the stream.

    The repository of the session is opened in the background, so that the first question is answered fast.

    Args:
        workspace: The workspace, or a function that returns it; the function is called in threads and must always
            return the same one.
        reader: Stream from the client.
        writer: Stream to the client.
        token: Token that the hello must carry; None accepts every client.
    """
    incoming = _LineReader(reader)
    try:
        with suppress(ConnectionError):
            hello = await _accept_client(incoming, writer, token)
            if hello is not None:
                await _serve_session(workspace, hello, incoming, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _accept_client(incoming: "_LineReader", writer: asyncio.StreamWriter, token: str | None) -> Hello | None:
    """Read the hello and reply to it; return None if the client is rejected."""
    hello: Hello | None = None
    answer: dict[str, object] = {"coderag": HELLO_VERSION, "ok": True}
    try:
        async with asyncio.timeout(HELLO_TIMEOUT_S):
            line = await incoming.read_first(MAX_HELLO_BYTES)
        hello = _parse_hello(line, token)
    except (HelloError, TimeoutError) as error:
        answer |= {"ok": False, "error": str(error) or "no hello received"}
    writer.write(json.dumps(answer).encode("ascii") + b"\n")
    await writer.drain()
    return hello


def _parse_hello(line: bytes, token: str | None) -> Hello:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or message.get("coderag") != HELLO_VERSION:
        raise HelloError(f"the first line must be the hello of version {HELLO_VERSION}")
    if token is not None and not hmac.compare_digest(
        str(message.get("token")).encode("utf-8", "replace"), token.encode()
    ):
        raise HelloError("the token is wrong")
    root, tools = message.get("root"), message.get("tools", "all")
    if not isinstance(root, str) or not Path(root).is_absolute():
        raise HelloError("'root' must be the absolute path of a folder")
    if tools not in ("all", "single"):
        raise HelloError("'tools' must be 'all' or 'single'")
    return Hello(Path(root), tools)


async def _serve_session(
    workspace: "Workspace | Callable[[], Workspace]",
    hello: Hello,
    incoming: "_LineReader",
    writer: asyncio.StreamWriter,
) -> None:
    server = make_server(workspace, default_root=hello.root, profile=hello.tools).lowlevel
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    has_replied = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_read_messages(incoming, to_server, writer))
        tasks.create_task(_write_messages(from_server, writer, has_replied))
        warming = tasks.create_task(_warm_soon(workspace, hello.root, has_replied))
        await server.run(from_client, to_client, server.create_initialization_options())
        warming.cancel()


async def _read_messages(
    incoming: "_LineReader", to_server: MemoryObjectSendStream[SessionMessage | Exception], writer: asyncio.StreamWriter
) -> None:
    """Forward messages to the server until the client or the server ends; reply to invalid lines."""
    # Not around the TaskGroup: it would raise an ExceptionGroup.
    with suppress(ConnectionError, anyio.BrokenResourceError):
        await _forward_messages(incoming, to_server, writer)


async def _forward_messages(
    incoming: "_LineReader", to_server: MemoryObjectSendStream[SessionMessage | Exception], writer: asyncio.StreamWriter
) -> None:
    async with to_server:
        async for line in incoming:
            answer = LINE_TOO_LONG_REPLY
            if line is not None:
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    answer = _build_refusal(line)
                else:
                    await to_server.send(SessionMessage(message))
                    continue
            writer.write(answer)
            await writer.drain()


async def _write_messages(
    from_server: MemoryObjectReceiveStream[SessionMessage], writer: asyncio.StreamWriter, has_replied: asyncio.Event
) -> None:
    """Send the messages of the server until it ends. `_read_messages` notices a disconnected client."""
    async with from_server:
        async for message in from_server:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            with suppress(ConnectionError):
                writer.write(line.encode("utf-8", "replace") + b"\n")
                await writer.drain()
            has_replied.set()


async def _warm_soon(workspace: "Workspace | Callable[[], Workspace]", root: Path, has_replied: asyncio.Event) -> None:
    """Open the repository of the session after the first reply: earlier, it would slow that reply down."""
    with suppress(TimeoutError):
        async with asyncio.timeout(WARM_DELAY_S):
            await has_replied.wait()
    # Not in the loop's executor: the end of the loop would wait for it.
    threading.Thread(target=_warm_repository, args=(workspace, root), name="mcp-warm", daemon=True).start()


def _build_refusal(line: bytes) -> bytes:
    """Build the reply to a line that is not a message."""
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        return encode_error(None, PARSE_ERROR, "The line is not valid JSON.")
    request = get_message_id(message) if isinstance(message, dict) else None
    return encode_error(request, INVALID_REQUEST, "The line is not a JSON-RPC 2.0 message, or it is a batch.")


def _warm_repository(workspace: "Workspace | Callable[[], Workspace]", root: Path) -> None:
    """Open the repository of the session ahead of the first question; errors are reported by that question."""
    try:
        repository = (workspace() if callable(workspace) else workspace).open_repository(root)
        with repository.keep_open():
            if repository.is_indexed:
                repository.engine.definition("")
                if _is_search_local(repository.engine.settings):
                    repository.engine.search("main", top_k=1)
    except CodeRAGError as error:
        logger.debug("%s is not opened ahead: %s", root, error)


def _is_search_local(settings: "Settings") -> bool:
    """Return whether a search calls no remote model: warming up must neither cost nor send anything."""
    return (settings.embedding.provider, settings.reranker.provider, settings.search.rewrite) == (
        "embedded",
        "none",
        "none",
    )


class _LineReader(AsyncIterator[bytes | None]):
    """Iterator over the lines of a client; None stands for a line that is too long.

    It ends when the client disconnects.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._cutter = LineCutter(MAX_LINE_BYTES)
        self._ready: list[bytes | None] = []

    async def __anext__(self) -> bytes | None:
        while not self._ready:
            try:
                data = await self._reader.read(_READ_BYTES)
            except ConnectionError:
                data = b""
            if not data:
                raise StopAsyncIteration
            self._ready.extend(self._cutter.cut(data))
        return self._ready.pop(0)

    async def read_first(self, max_bytes: int) -> bytes:
        """Return the first line; empty if it exceeds the limit or the client disconnects."""
        received = b""
        while b"\n" not in received and len(received) <= max_bytes:
            try:
                data = await self._reader.read(_READ_BYTES)
            except ConnectionError:
                data = b""
            if not data:
                return b""
            received += data
        line, end, rest = received.partition(b"\n")
        self._ready.extend(self._cutter.cut(rest))
        return line if end and len(line) <= max_bytes else b""
