"""What may stand behind a front: small servers that answer, hang or die as a request asks."""

import json
import queue
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from coderag.interfaces.mcp.stdio.backends import Backend, BackendError, SessionOptions


class FakeBackends:
    """Makes connections to servers of its own, and keeps what each was sent.

    A server answers a request by its method and the server's number; ``hang`` gets no reply, ``die`` ends the server.
    """

    def __init__(self) -> None:
        self.said: list[list[dict[str, Any]]] = []
        self.allowed = threading.Event()
        """Until it is set, connecting takes."""
        self.allowed.set()
        self.fault = ""
        """Why connecting fails."""
        self.well = [True]
        """Which servers do their work; the last holds for all that follow."""
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def connect(self) -> Backend:
        assert self.allowed.wait(10)
        if self.fault:
            raise BackendError(self.fault)
        near, far = socket.socketpair()
        near.settimeout(10)
        number = len(self.said)
        self.said.append([])
        self._ends.append(far)
        thread = threading.Thread(target=self._serve, args=(far, number))
        thread.start()
        self._threads.append(thread)
        backend = Backend(near, "the fake", lambda: self.well[min(number, len(self.well) - 1)])
        backend.begin_session(SessionOptions(Path("/work")))
        return backend

    def kill(self, number: int) -> None:
        """End a server from outside."""
        self._ends[number].shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for number in range(len(self._ends)):
            try:
                self.kill(number)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(10)

    def methods(self, number: int) -> list[str]:
        return [message.get("method", "") for message in self.said[number]]

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, connection.makefile("rb") as lines, suppress(ConnectionError):
            if not lines.readline():
                return
            connection.sendall(b'{"coderag": 1, "ok": true}\n')
            for line in lines:
                message = json.loads(line)
                self.said[number].append(message)
                if message["method"] == "die":
                    return
                if "id" in message and message["method"] != "hang":
                    result = {"method": message["method"], "server": number}
                    connection.sendall(
                        json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n"
                    )


class Client:
    """What a front writes, as messages."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def write(self, lines: bytes) -> None:
        for line in lines.splitlines():
            self._messages.put(json.loads(line))

    def next(self) -> dict[str, Any]:
        return self._messages.get(timeout=10)

    @property
    def has_more(self) -> bool:
        return not self._messages.empty()
