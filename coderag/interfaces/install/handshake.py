"""Start a configured command as an agent would, and do the handshake of MCP with it."""

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

_PROTOCOL: Final = "2025-06-18"  # servers answer with it, or with another one that they speak
_LONGEST_LINE: Final = 8_000_000
_END_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a server says of itself.

    Attributes:
        server: Its name and version.
        protocol: The version of the protocol that it speaks.
        tools: The names of its tools.
        seconds: What it took until it had answered the first request.
    """

    server: str
    protocol: str
    tools: Sequence[str]
    seconds: float


def greet(command: Sequence[str], folder: Path, *, timeout_s: float = 60.0) -> Greeting:
    """Start a server, ask what it is and which tools it has, and end it.

    Args:
        command: With its arguments.
        folder: Where it is started.
        timeout_s: Seconds for all of that.

    Raises:
        ServiceError: It cannot be started, ends, says something else, or does not answer in time.
    """
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        hint = "Run `coderag install` again: the command may have moved."
        raise ServiceError(f"{command[0]} cannot be started: {error.strerror or error}", hint=hint) from error
    talk = _Talk(process, started + timeout_s)
    try:
        about = talk.request(
            1,
            "initialize",
            {
                "protocolVersion": _PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "coderag-install", "version": __version__},
            },
        )
        seconds = time.monotonic() - started
        talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = talk.request(2, "tools/list", {}).get("tools", [])
        server = about.get("serverInfo") or {}
        name = f"{server.get('name', '')} {server.get('version', '')}".strip()
        return Greeting(name, str(about.get("protocolVersion", "")), [str(one.get("name")) for one in tools], seconds)
    finally:
        talk.close()


class _Talk:
    """A conversation with a server, over its standard input and output."""

    def __init__(self, process: "subprocess.Popen[bytes]", deadline: float) -> None:
        self._process = process
        self._deadline = deadline
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        assert process.stdin is not None
        assert process.stdout is not None
        self._input: IO[bytes] = process.stdin
        self._output: IO[bytes] = process.stdout
        self._reader = threading.Thread(target=self._read, name="handshake", daemon=True)
        self._reader.start()

    def send(self, message: Mapping[str, Any]) -> None:
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
        except OSError as error:
            raise self._ended() from error

    def request(self, number: int, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a request; what else the server says meanwhile is passed over."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        while True:
            message = self._next(method)
            if message.get("id") != number or "method" in message:
                continue
            result = message.get("result")
            if not isinstance(result, dict):
                raise ServiceError(f"it refuses {method}: {message.get('error')}")
            return result

    def close(self) -> None:
        """End the server: first by the end of its input, as agents do."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_END_S)
        self._output.close()

    def _next(self, method: str) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            raise ServiceError(
                f"it does not answer {method} in time", hint="Run the command by hand to see why."
            ) from None
        if line is None:
            raise self._ended()
        try:
            message = json.loads(line)
        except ValueError as error:
            shown = line[:80].decode("utf-8", "replace").strip()
            raise ServiceError(f"it writes something that is no message: {shown!r}") from error
        return message if isinstance(message, dict) else {}

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := self._output.readline(_LONGEST_LINE):
                self._lines.put(line)
        self._lines.put(None)

    def _ended(self) -> ServiceError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.poll()
        told = "" if code is None else f", with exit code {code}"
        return ServiceError(f"it ended without an answer{told}", hint="Run the command by hand to see why.")
