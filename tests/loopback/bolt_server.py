"""A server on this machine that speaks Bolt 5.4, as Neo4j and Memgraph do, keeps the queries and answers from a table.

Source: https://neo4j.com/docs/bolt/current/
"""

import socketserver
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

HELLO, GOODBYE, RESET, RUN, BEGIN, COMMIT, ROLLBACK, PULL, ROUTE, LOGON = (
    0x01, 0x02, 0x0F, 0x10, 0x11, 0x12, 0x13, 0x3F, 0x66, 0x6A,
)  # fmt: skip
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F
_VERSION = b"\x00\x00\x04\x05"


class Refusal(Exception):
    """Answers a query or a user with an error: its code and message."""


@dataclass
class BoltServer:
    """Serves between ``with`` and its end, on a free port of 127.0.0.1.

    Attributes:
        answer: Gives the columns and rows of a query; may raise `Refusal`.
        queries: What came in, in order, with the parameters.
        users: (user, password) of each connection.
    """

    answer: Callable[[str, dict[str, Any]], tuple[list[str], list[list[Any]]]]
    password: str = "secret"
    queries: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    users: list[tuple[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        bolt = self

        class Handler(socketserver.StreamRequestHandler):
            timeout = 10

            def handle(self) -> None:
                _Session(bolt, self.rfile, self.wfile).serve()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Session:
    """One connection."""

    def __init__(self, server: BoltServer, incoming: Any, outgoing: Any) -> None:
        self._server, self._in, self._out = server, incoming, outgoing
        self._rows: list[list[Any]] = []
        self._failed = False

    def serve(self) -> None:
        if len(self._in.read(20)) < 20:
            return
        self._out.write(_VERSION)
        while (message := self._receive()) is not None:
            tag, fields = message
            if tag == GOODBYE:
                return
            if tag == RESET:
                self._failed = False
            if self._failed:
                self._send(IGNORED)
                continue
            try:
                self._reply(tag, fields)
            except Refusal as refusal:
                code, text = refusal.args
                self._failed = True
                self._send(FAILURE, {"code": code, "message": text})

    def _reply(self, tag: int, fields: list[Any]) -> None:
        if tag == LOGON:
            user, password = fields[0].get("principal", ""), fields[0].get("credentials", "")
            self._server.users.append((user, password))
            if password != self._server.password:
                raise Refusal("Neo.ClientError.Security.Unauthorized", "wrong password")
        told: dict[str, Any] = {"server": "Neo4j/5.20.0", "connection_id": "1"} if tag == HELLO else {}
        if tag == RUN:
            self._server.queries.append((fields[0], fields[1]))
            told["fields"], self._rows = self._server.answer(fields[0], fields[1])
        if tag == PULL:
            for row in self._rows:
                self._send(RECORD, row)
            self._rows = []
        self._send(SUCCESS, told)

    def _receive(self) -> tuple[int, list[Any]] | None:
        data = b""
        while True:
            head = self._in.read(2)
            if len(head) < 2:
                return None
            size = struct.unpack(">H", head)[0]
            if size:
                data += self._in.read(size)
            elif data:
                break
        return data[1], list(_Unpacker(data, 2).values(data[0] & 0x0F))

    def _send(self, tag: int, *fields: Any) -> None:
        data = bytes([0xB0 + len(fields), tag]) + b"".join(map(pack, fields))
        self._out.write(struct.pack(">H", len(data)) + data + b"\0\0")
        self._out.flush()


def pack(value: Any) -> bytes:
    """Return a value in PackStream, without the shortest forms."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return b"\xcb" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xc1" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return b"\xd2" + struct.pack(">I", len(data)) + data
    if isinstance(value, list):
        return b"\xd6" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    return b"\xda" + struct.pack(">I", len(value)) + b"".join(pack(k) + pack(v) for k, v in value.items())


class _Unpacker:
    """Reads values in PackStream."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._position = data, position

    def values(self, count: int) -> Any:
        return [self.value() for _ in range(count)]

    def value(self) -> Any:
        mark = self._take(">B")
        if mark < 0x80:
            return mark
        if mark >= 0xF0:
            return mark - 0x100
        if mark in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[mark]
        if mark in (0xC1, 0xC8, 0xC9, 0xCA, 0xCB):
            return self._take({0xC1: ">d", 0xC8: ">b", 0xC9: ">h", 0xCA: ">i", 0xCB: ">q"}[mark])
        sizes = {0: ">B", 1: ">H", 2: ">I"}
        for kind, tiny, first in (("text", 0x80, 0xD0), ("list", 0x90, 0xD4), ("map", 0xA0, 0xD8)):
            if mark & 0xF0 == tiny:
                return self._sized(kind, mark & 0x0F)
            if first <= mark <= first + 2:
                return self._sized(kind, self._take(sizes[mark - first]))
        raise AssertionError(f"no such mark: {mark:#x}")

    def _sized(self, kind: str, size: int) -> Any:
        if kind == "list":
            return self.values(size)
        if kind == "map":
            return {self.value(): self.value() for _ in range(size)}
        self._position += size
        return self._data[self._position - size : self._position].decode()

    def _take(self, form: str) -> Any:
        size = struct.calcsize(form)
        self._position += size
        return struct.unpack(form, self._data[self._position - size : self._position])[0]
