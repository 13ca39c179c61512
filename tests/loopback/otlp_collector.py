"""A collector on this machine that receives OpenTelemetry's spans by OTLP over HTTP, and keeps what came in.

Source: https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Collector:
    """Serves between ``with`` and its end, on a free port of 127.0.0.1.

    Attributes:
        received: Path and body of each request, in order.
    """

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append(
                    (self.path, gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                )
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base's name
                pass

        return Handler
