"""An OpenID Connect provider on the loopback that sends whatever tokens a test wants, right or wrong."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT_ID = "coderag"


class TokenProvider:
    """A provider with one signing key; its replies are attributes that a test changes.

    Attributes:
        id_token: ID token of the next exchange; None signs the claims.
        user_info: Claims of its endpoint of user information; None for no endpoint.
        status: Status of all replies; 200 for those that they should have.
        metadata: Changes of its metadata.
        requests: Paths that were requested.
    """

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.published: list[Any] = [self.key]
        self.id_token: str | None = None
        self.claims: dict[str, Any] = {}
        self.user_info: Mapping[str, Any] | None = None
        self.status = 200
        self.metadata: dict[str, Any] = {}
        self.token_reply: Any = None
        self.requests: list[str] = []
        self.exchange: dict[str, list[str]] = {}

    def rotate(self, kid: str = "second") -> None:
        """Replace the key by a new one."""
        self.key = RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})
        self.published = [self.key]

    def build_claims(self, **changes: Any) -> dict[str, Any]:
        """Build claims of an ID token; None leaves one out."""
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": "ada", "aud": CLIENT_ID, "exp": now + 300, "iat": now}
        return {name: value for name, value in {**claims, **self.claims, **changes}.items() if value is not None}

    def sign(self, key: Any = None, algorithm: str = "RS256", header: Mapping[str, Any] = {}, **claims: Any) -> str:
        """Sign claims."""
        key = key or self.key
        full = {"alg": algorithm, **({"kid": key.kid} if key.kid else {}), **header}
        return jwt.encode(full, self.build_claims(**claims), key, algorithms=[algorithm])

    def reply(self, path: str, body: str) -> tuple[int, Any]:
        """Return status and body of the reply to a request."""
        self.requests.append(path)
        if self.status != 200:
            return self.status, {"error": "server_error"}
        if path == "/.well-known/openid-configuration":
            return 200, self._describe() | self.metadata
        if path == "/jwks":
            return 200, KeySet(self.published).as_dict()
        if path == "/token":
            self.exchange = parse_qs(body)
            if self.token_reply is not None:
                return self.token_reply
            nonce = self.claims.get("nonce")
            token = self.id_token or self.sign(nonce=nonce)
            return 200, {"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": token}
        if path == "/userinfo":
            return 200, self.user_info
        return 404, {}

    def _describe(self) -> dict[str, Any]:
        paths = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        if self.user_info is not None:
            paths["userinfo_endpoint"] = "/userinfo"
        return {"issuer": self.issuer, **{name: self.issuer + path for name, path in paths.items()}}


@contextmanager
def serve_tokens() -> Iterator[TokenProvider]:
    """Serve a provider on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            status, reply = provider.reply(self.path, body)
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = TokenProvider(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def sign_with_none(claims: Mapping[str, Any], name: str = "none") -> str:
    """Return a token of the algorithm ``none``."""
    parts = [json.dumps(part).encode() for part in ({"alg": name, "typ": "JWT"}, dict(claims))]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


def sign_with_public_key(provider: TokenProvider, **claims: Any) -> str:
    """Return a token of HS256 whose secret is the public key of the provider."""
    pem = provider.key.as_pem(private=False)
    parts = [
        json.dumps(part).encode()
        for part in ({"alg": "HS256", "kid": provider.key.kid}, provider.build_claims(**claims))
    ]
    text = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    signature = hmac.digest(pem, text.encode(), hashlib.sha256)
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
