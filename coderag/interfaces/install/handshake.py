"""MCP handshake with a configured server command."""

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from coderag import __version__
from coderag.errors import ServiceError

_PROTOCOL_VERSION: Final = "2025-06-18"  # servers reply with this version or another that they support
_MAX_LINE_BYTES: Final = 8_000_000
_EXIT_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class HandshakeResult:
    """Identity and tools that a server reported.

    Attributes:
        server: Its name and version.
        protocol: Protocol version.
        tools: The names of its tools.
        seconds: Time until the first reply.
    """

    server: str
    protocol: str
    tools: Sequence[str]
    seconds: float


def probe_server(command: Sequence[str], folder: Path, *, timeout_s: float = 60.0) -> HandshakeResult:
    """Start a server, request its identity and tools, and stop it.

    Args:
        command: Command with its arguments.
        folder: Working directory.
        timeout_s: Total time limit in seconds.

    Raises:
        ServiceError: It cannot be started, exits, violates the protocol, or does not answer in time.
    """
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        hint = "Run `coderag install` again: the command may have moved."
        raise ServiceError(f"{command[0]} cannot be started: {error.strerror or error}", hint=hint) from error
    client = _StdioClient(process, started + timeout_s)
    try:
        info = client.request(
            1,
            "initialize",
            {
                "protocolVersion": _PROTOCOL_VERSION,
                "capabilities": {},
                "clientInfo": {"name": "coderag-install", "version": __version__},
            },
        )
        seconds = time.monotonic() - started
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = client.request(2, "tools/list", {}).get("tools", [])
        server = info.get("serverInfo") or {}
        name = f"{server.get('name', '')} {server.get('version', '')}".strip()
        return HandshakeResult(
            name, str(info.get("protocolVersion", "")), [str(tool.get("name")) for tool in tools], seconds
        )
    finally:
        client.close()


class _StdioClient:
    """A JSON-RPC client over the standard streams of a server process."""

    def __init__(self, process: "subprocess.Popen[bytes]", deadline: float) -> None:
        self._process = process
        self._deadline = deadline
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        assert process.stdin is not None
        assert process.stdout is not None
        self._input: IO[bytes] = process.stdin
        self._output: IO[bytes] = process.stdout
        self._reader = threading.Thread(target=self._read_lines, name="handshake", daemon=True)
        self._reader.start()

    def send(self, message: Mapping[str, Any]) -> None:
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
        except OSError as error:
            raise self._make_end_error() from error

    def request(self, number: int, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a request; other messages are ignored."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        while True:
            message = self._read_message(method)
            if message.get("id") != number or "method" in message:
                continue
            result = message.get("result")
            if not isinstance(result, dict):
                raise ServiceError(f"the server rejects {method}: {message.get('error')}")
            return result

    def close(self) -> None:
        """Stop the server, first by closing its input, as agents do."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self._process.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_EXIT_TIMEOUT_S)
        self._output.close()

    def _read_message(self, method: str) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            raise ServiceError(
                f"the server does not answer {method} in time", hint="Run the command by hand to see why."
            ) from None
        if line is None:
            raise self._make_end_error()
        try:
            message = json.loads(line)
        except ValueError as error:
            excerpt = line[:80].decode("utf-8", "replace").strip()
            raise ServiceError(f"the server writes an invalid message: {excerpt!r}") from error
        return message if isinstance(message, dict) else {}

    def _read_lines(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := self._output.readline(_MAX_LINE_BYTES):
                self._lines.put(line)
        self._lines.put(None)

    def _make_end_error(self) -> ServiceError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.poll()
        detail = "" if code is None else f", with exit code {code}"
        return ServiceError(f"the server exited without an answer{detail}", hint="Run the command by hand to see why.")
