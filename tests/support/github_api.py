"""API of a GitHub App on the loopback: it verifies the signed token and gives installation tokens."""

import json
import ssl
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey


class GitHubApi:
    """Exchanges tokens.

    Attributes:
        public_key: Key of the app.
        now: Current time of tokens.
        status: Status of each reply.
        body: Body of each reply; None for a token.
        claims: Claims that came.
        hosts: `Host` headers that came.
        redirect: Address of a redirect; empty for none.
    """

    def __init__(self, public_key: RSAKey, tls: ssl.SSLContext | None = None) -> None:
        self.public_key = public_key
        self.now = datetime.now(UTC)
        self.status = 201
        self.body: bytes | None = None
        self.redirect = ""
        self.claims: list[dict[str, Any]] = []
        self.hosts: list[str] = []
        self.paths: list[str] = []
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def __enter__(self) -> "GitHubApi":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    api: GitHubApi

    def do_POST(self) -> None:
        api = self.api
        api.paths.append(self.path)
        api.hosts.append(self.headers["host"])
        scheme, _, assertion = self.headers["authorization"].partition(" ")
        assert scheme == "Bearer"
        token = jwt.decode(assertion, api.public_key, algorithms=["RS256"])
        api.claims.append(token.claims)
        reply = {
            "token": f"ghs_{len(api.claims)}",
            "expires_at": (api.now + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self.send_response(302 if api.redirect else api.status)
        if api.redirect:
            self.send_header("location", api.redirect)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode() if api.body is None else api.body)

    def log_message(self, *_: object) -> None:
        pass
