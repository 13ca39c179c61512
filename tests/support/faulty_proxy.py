"""HTTP proxy that fails requests as a test wants; it passes the signed host on, so that signatures stay valid."""

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
Fault = Callable[[str, str], str]
"""Returns what to do with a method and path: nothing, slow down, hang, lose the reply, tear it, or ignore conditions."""


class FaultyProxy:
    """Proxy in front of a server.

    Attributes:
        fault: Decides about each request.
        requests: Method and path of each request.
    """

    def __init__(self, upstream: str) -> None:  # noqa: C901  # a handler needs its proxy
        self.fault: Fault = lambda method, path: ""
        self.requests: list[tuple[str, str]] = []
        proxy, parts = self, urlsplit(upstream)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_request(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                proxy.requests.append((self.command, self.path))
                action = proxy.fault(self.command, self.path)
                if action == "slow down":
                    self.reply(503, {"Content-Type": "application/xml"}, SLOW_DOWN)
                    return
                if action == "hang":
                    time.sleep(1.5)
                    self.close_connection = True
                    return
                headers = dict(self.headers.items())
                if action == "ignore conditions":
                    headers = {name: value for name, value in headers.items() if not name.lower().startswith("if-")}
                connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                content = response.read()
                given = {name: value for name, value in response.getheaders() if name.lower() != "transfer-encoding"}
                connection.close()
                if action == "lose the reply":
                    self.close_connection = True
                    return
                self.reply(response.status, given, content, is_torn=action == "tear")

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = handle_request

            def reply(self, status: int, headers: dict[str, str], content: bytes, *, is_torn: bool = False) -> None:
                self.send_response_only(status)
                for name, value in headers.items():
                    if name.lower() != "content-length":
                        self.send_header(name, value)
                length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
                self.send_header("Content-Length", length)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content[: len(content) // 2] if is_torn else content)
                self.close_connection = self.close_connection or is_torn

            def log_message(self, *arguments: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def run(self) -> Iterator["FaultyProxy"]:
        """Serve until the end of the block."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
