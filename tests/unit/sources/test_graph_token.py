"""Tokens by msal from a sign-in service on this machine, which has its own certificate authority since msal needs https."""

import base64
import json
import ssl
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from coderag.errors import SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.sources.sharepoint.graph_token import GraphCredential, GraphTokens

pytest.importorskip("msal", reason="the extra sources is not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

GRAPH = "https://graph.microsoft.com/v1.0"
SECRET = "Qx8~client.secret"


def build_certificate(folder: Path, key: Any) -> Path:
    """Write a self-signed certificate for this machine and its key into one PEM file."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    path = folder / "certificate.pem"
    plain = serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


class SignIn(ThreadingHTTPServer):
    """Microsoft Entra for the tenant ``contoso``, as documented: discovery, and tokens for client credentials."""

    def __init__(self, certificate: Path) -> None:
        super().__init__(("127.0.0.1", 0), SignInHandler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.forms: list[dict[str, list[str]]] = []
        self.refusal: tuple[int, dict[str, Any]] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_port}"


class SignInHandler(BaseHTTPRequestHandler):
    server: SignIn

    def do_GET(self) -> None:
        base = f"{self.server.url}/contoso"
        self.reply(
            200 if self.path == "/contoso/v2.0/.well-known/openid-configuration" else 404,
            {
                "issuer": f"{base}/v2.0",
                "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
            },
        )

    def do_POST(self) -> None:
        self.server.forms.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        status, body = self.server.refusal or (
            200,
            {"token_type": "Bearer", "expires_in": 3599, "access_token": f"token-{len(self.server.forms)}"},
        )
        self.reply(status, body)

    def reply(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base's name
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_certificate(tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture
def sign_in(certificate: Path) -> Iterator[SignIn]:
    with SignIn(certificate) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def build(sign_in: SignIn, certificate: Path) -> Iterator[Any]:
    opened: list[GraphTokens] = []

    def build_tokens(**values: str) -> GraphTokens:
        credential = GraphCredential("contoso", "app-1", authority=sign_in.url, **({"secret": SECRET} | values))
        opened.append(GraphTokens(credential, GRAPH, verify=ssl.create_default_context(cafile=str(certificate))))
        return opened[-1]

    yield build_tokens
    for tokens in opened:
        tokens.close()


def test_token_is_requested_once_and_kept(sign_in: SignIn, build: Any) -> None:
    tokens = build()
    assert tokens.build_headers() == {"authorization": "Bearer token-1"}
    assert tokens.build_headers() == {"authorization": "Bearer token-1"}
    (form,) = sign_in.forms
    assert form["grant_type"] == ["client_credentials"]
    assert form["client_secret"] == [SECRET]
    assert form["scope"] == ["https://graph.microsoft.com/.default"]


def test_certificate_signs_the_request(sign_in: SignIn, build: Any, tmp_path: Path) -> None:
    pem = build_certificate(tmp_path, rsa.generate_private_key(65537, 2048)).read_text()
    assert build(secret="", certificate=pem).build_headers() == {"authorization": "Bearer token-1"}
    (form,) = sign_in.forms
    assert "client_secret" not in form
    claims = form["client_assertion"][0].split(".")[1]
    content = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert (content["iss"], content["sub"]) == ("app-1", "app-1")


def test_refused_secret_is_an_authentication_error_without_the_secret(sign_in: SignIn, build: Any) -> None:
    description = f"AADSTS7000215: Invalid client secret '{SECRET}' provided.\r\nTrace ID: 1"
    sign_in.refusal = (401, {"error": "invalid_client", "error_description": description})
    with pytest.raises(SourceAuthenticationError) as caught:
        build().build_headers()
    assert "(invalid_client): AADSTS7000215: Invalid client secret '***' provided." in str(caught.value)
    assert SECRET not in str(caught.value)


def test_outage_of_the_service_is_unavailable(sign_in: SignIn, build: Any) -> None:
    sign_in.refusal = (503, {"error": "temporarily_unavailable"})
    with pytest.raises(SourceUnavailableError, match=r"127\.0\.0\.1"):
        build().build_headers()


def test_unreachable_service_is_unavailable() -> None:
    tokens = GraphTokens(GraphCredential("contoso", "app-1", SECRET, authority="https://127.0.0.1:9"), GRAPH)
    with pytest.raises(SourceUnavailableError):
        tokens.build_headers()
    tokens.close()


def test_service_with_another_certificate_is_not_trusted(sign_in: SignIn) -> None:
    tokens = GraphTokens(GraphCredential("contoso", "app-1", SECRET, authority=sign_in.url), GRAPH)
    with pytest.raises(SourceUnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
        tokens.build_headers()
    tokens.close()
    assert sign_in.forms == []


@pytest.mark.parametrize("values", [{"secret": ""}, {"secret": "", "certificate": "no key"}])
def test_missing_and_damaged_credentials_are_errors(build: Any, values: dict[str, str]) -> None:
    with pytest.raises(SourceError):
        build(**values).build_headers()


def test_unknown_tenant_is_an_error(sign_in: SignIn, certificate: Path) -> None:
    context = ssl.create_default_context(cafile=str(certificate))
    tokens = GraphTokens(GraphCredential("other", "app-1", SECRET, authority=sign_in.url), GRAPH, verify=context)
    with pytest.raises(SourceError, match="no token from the sign-in service"):
        tokens.build_headers()
    tokens.close()


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msal", None)
    with pytest.raises(SourceError, match="msal") as caught:
        GraphTokens(GraphCredential("contoso", "app-1", SECRET), GRAPH).build_headers()
    assert caught.value.hint == "Install coderag-engine[sources]."


def test_credential_does_not_show_its_secret() -> None:
    assert SECRET not in repr(GraphCredential("contoso", "app-1", SECRET))
