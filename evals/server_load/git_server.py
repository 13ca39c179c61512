"""Bare git repositories served over HTTP on the loopback by ``git http-backend``."""

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote, urlsplit

_GIT_VARIABLES: Final = {"HOME": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_HTTP_EXPORT_ALL": "1"}


class GitServer:
    """HTTP server of the bare repositories in a folder.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        handler = type(
            "Handler",
            (_GitHandler,),
            {"folder": folder, "do_GET": _GitHandler.serve_references, "do_POST": _GitHandler.serve_packs},
        )
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def get_url(self, name: str) -> str:
        """Return the URL of a repository."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}"


class _GitHandler(BaseHTTPRequestHandler):
    folder: Path

    def serve_references(self) -> None:
        """Serve references."""
        self._serve(b"")

    def serve_packs(self) -> None:
        """Serve packs."""
        self._serve(self.rfile.read(int(self.headers.get("content-length", 0))))

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _serve(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        environment = _GIT_VARIABLES | {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.folder),
            "PATH_INFO": unquote(parts.path),
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        reply = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
        ).stdout
        head, _, content = reply.partition(b"\r\n\r\n")
        headers = [line.partition(": ")[::2] for line in head.decode("latin-1").split("\r\n")]
        status = next((value for name, value in headers if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
