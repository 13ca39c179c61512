"""A client of MCP over standard input and output that keeps every line, and takes none that is not JSON-RPC."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("driven_mcp.py")
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
DEADLINE_S = 60


class StdioClient:
    """Starts `coderag mcp`, and talks with it.

    Args:
        fault: What is wrong with it, see `driven_mcp`.
        arguments: Of the command.
        environment: Of the process.
        here: Its current folder.
    """

    def __init__(self, fault: str, arguments: Sequence[str], *, environment: Mapping[str, str], here: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), fault, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=here,
        )
        self.lines: list[bytes] = []
        """All of standard output."""
        self.errors: list[bytes] = []
        """All of standard error."""
        self.notices: list[dict[str, Any]] = []
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._readers = [threading.Thread(target=self._read_output), threading.Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()
        self._last_id = 0

    def say(self, method: str, params: Any = None, request: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "id": request, "method": method, "params": params}
        line = json.dumps({name: it for name, it in message.items() if it is not None}).encode() + b"\n"
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request, and return its id."""
        self._last_id += 1
        self.say(method, params, self._last_id)
        return self._last_id

    def reply(self, request: int) -> dict[str, Any]:
        """Return the reply to a request; what comes before it is kept as a notice."""
        while True:
            message = self._messages.get(timeout=DEADLINE_S)
            assert message is not None, b"".join(self.errors).decode()
            if message.get("id") == request:
                return message
            self.notices.append(message)

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        return self.reply(self.begin(method, params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def open(self) -> None:
        assert self.ask("initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "coderag"
        self.say("notifications/initialized")

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Wait until the process is gone, and return its exit code; all that it wrote is read then."""
        code = self.process.wait(DEADLINE_S)
        for reader in self._readers:
            reader.join(DEADLINE_S)
        return code

    def abandon(self) -> None:
        """See to it that nothing is left."""
        self.process.kill()
        self.end()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            try:
                message = json.loads(line)
            except ValueError:
                continue
            self._messages.put(message)
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)
