"""Git server over HTTP on the loopback: `git http-backend` behind a small server, with basic authentication and faults."""

import base64
import os
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit


class GitHttpServer:
    """Serves the bare repositories of a folder.

    Attributes:
        account: User and password that each request needs; None for none.
        redirect: Address to which every request is redirected; empty for none.
        pause_s: Pause after each block of a reply.
        authorizations: `Authorization` headers that came.
        requests: Paths that were asked for.
    """

    def __init__(self, folder: Path, tls: ssl.SSLContext | None = None) -> None:
        self.folder = folder
        self.account: tuple[str, str] | None = None
        self.redirect = ""
        self.pause_s = 0.0
        self.authorizations: list[str | None] = []
        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _build_handler(self))
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def url(self, name: str, host: str = "127.0.0.1") -> str:
        return f"{self._scheme}://{host}:{self.port}/{name}"

    def __enter__(self) -> "GitHttpServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _build_handler(server: GitHttpServer) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_GitHandler,), {"git_server": server})


class _GitHandler(BaseHTTPRequestHandler):
    git_server: GitHttpServer
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("content-length", 0))))

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self, body: bytes) -> None:
        server = self.git_server
        server.requests.append(self.path)
        given = self.headers.get("authorization")
        server.authorizations.append(given)
        if server.redirect:
            self._reply(302, "location", server.redirect + self.path)
        elif server.account and given != f"Basic {base64.b64encode(':'.join(server.account).encode()).decode()}":
            self._reply(401, "www-authenticate", 'Basic realm="git"')
        else:
            self._run_backend(body)

    def _reply(self, status: int, name: str, value: str) -> None:
        self.send_response(status)
        self.send_header(name, value)
        self.end_headers()

    def _run_backend(self, body: bytes) -> None:
        process = subprocess.Popen(
            ["git", "http-backend"],
            env=self._build_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(body)
            process.stdin.close()
            self._relay(process.stdout)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            process.stdout.close()
            process.kill()
            process.wait()

    def _build_environment(self) -> dict[str, str]:
        parts = urlsplit(self.path)
        return {
            "PATH": os.environ["PATH"],
            "HOME": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": str(self.git_server.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": unquote(parts.path),
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }

    def _relay(self, output: IO[bytes]) -> None:
        status, headers = 200, []
        while line := output.readline().strip():
            name, _, value = line.decode().partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            else:
                headers.append((name, value))
        pause_s = self.git_server.pause_s
        body = b"" if pause_s else output.read()
        if not pause_s:  # without a length, TLS takes the end for a broken connection
            headers.append(("content-length", str(len(body))))
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        while pause_s and (block := output.read(4096)):
            self.wfile.write(block)
            self.wfile.flush()
            time.sleep(pause_s)
