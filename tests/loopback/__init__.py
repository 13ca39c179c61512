"""Real HTTP servers on this machine that speak as model servers do and fail on demand.

A server answers as the real one would; `LoopbackServer.next` queues replies that come first.
"""

import json
import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any, Self
from zlib import crc32


@dataclass(frozen=True)
class Reply:
    """One answer.

    Attributes:
        body: Bytes and text are sent as they are, anything else as JSON.
        withheld: Bytes that ``Content-Length`` promises and that never come: the connection breaks.
        delay_s: Seconds before the answer; the server's end cuts them short.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    withheld: int = 0
    delay_s: float = 0.0

    @property
    def encoded(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    @property
    def breaks(self) -> bool:
        """Whether the connection breaks before the answer is complete."""
        return bool(self.withheld)


@dataclass(frozen=True)
class Stream(Reply):
    """An answer that comes piece by piece.

    Attributes:
        pieces: Each is sent at once, as a chunk of HTTP; a number is seconds of silence, cut short by the server's end.
        complete: Whether the end comes; else the connection breaks.
    """

    pieces: Sequence[bytes | float] = ()
    complete: bool = True

    @property
    def breaks(self) -> bool:
        return not self.complete


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class LoopbackServer:
    """Serves between ``with`` and its end, on a free port of 127.0.0.1.

    Attributes:
        requests: What came in, in order.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._queued: deque[Reply] = deque()
        self._ending = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def next(self, *replies: Reply) -> None:
        """Answer the next requests with these."""
        self._queued.extend(replies)

    def respond(self, request: Request) -> Reply:
        """Answer as the real server would."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self._queued.popleft() if self._queued else self.respond(request)
        if reply.delay_s:
            self._ending.wait(reply.delay_s)
        return reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer, ending = self._answer, self._ending

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10  # a client that keeps its connection does not keep the thread
            disable_nagle_algorithm = True  # a body after its headers would wait 40 ms for the acknowledgement

            def do_GET(self) -> None:
                self._serve()

            def do_POST(self) -> None:
                self._serve()

            def _serve(self) -> None:
                sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = answer(Request(self.command, self.path, headers, json.loads(sent) if sent else None))
                try:
                    _write(reply, self, ending)
                except ConnectionError:  # the client did not wait
                    self.close_connection = True
                if reply.breaks:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base's name
                pass

        return Handler


def _write(reply: Reply, handler: BaseHTTPRequestHandler, ending: threading.Event) -> None:
    handler.send_response(reply.status)
    for name, value in {"Content-Type": "application/json", **reply.headers}.items():
        handler.send_header(name, value)
    if isinstance(reply, Stream):
        handler.send_header("Transfer-Encoding", "chunked")
    else:
        handler.send_header("Content-Length", str(len(reply.encoded) + reply.withheld))
    handler.end_headers()
    if isinstance(reply, Stream):
        _write_pieces(reply, handler.wfile, ending)
    else:
        handler.wfile.write(reply.encoded)


def _write_pieces(reply: Stream, file: BufferedIOBase, ending: threading.Event) -> None:
    for piece in reply.pieces:
        if isinstance(piece, bytes):
            file.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        else:
            ending.wait(piece)
    if reply.complete:
        file.write(b"0\r\n\r\n")


def bag_of_words(text: str, dimension: int) -> list[float]:
    """Return a vector in which texts that share words are near each other, code too; not normalised."""
    vector = [0.0] * dimension
    for word in re.findall(r"[a-z]+|[0-9]+", text.lower()):
        vector[crc32(word.encode()) % dimension] += 1.0
    return vector
