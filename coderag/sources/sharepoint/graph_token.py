"""Access tokens for Microsoft Graph as an application: a client secret, or a certificate, by msal."""

import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from coderag.errors import SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.sources.http_client import load_default_context

if TYPE_CHECKING:
    import httpx
    import msal

DEFAULT_AUTHORITY: Final = "https://login.microsoftonline.com"
_TIMEOUT_S = 30.0
_MAX_DETAIL_CHARS = 300


@dataclass(frozen=True, slots=True)
class GraphCredential:
    """Credential of an application that is registered at Microsoft Entra.

    Attributes:
        tenant: Id or domain of the tenant.
        client_id: Id of the application.
        secret: Its client secret; empty with a certificate.
        certificate: PEM text of its certificate together with the private key; empty with a secret.
        passphrase: Of the private key, if it is encrypted.
        authority: Address of the sign-in service; a national cloud has its own.
    """

    tenant: str
    client_id: str
    secret: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    passphrase: str = field(default="", repr=False)
    authority: str = DEFAULT_AUTHORITY


class GraphTokens:
    """Acquires tokens and keeps each in memory until shortly before it expires.

    Args:
        credential: The application's credential.
        graph_url: Address of Microsoft Graph; the token is for its host.
        verify: Context for certificates of the sign-in service.
    """

    def __init__(self, credential: GraphCredential, graph_url: str, *, verify: ssl.SSLContext | bool = True) -> None:
        parts = urlsplit(graph_url)
        self._credential = credential
        self._scope = f"{parts.scheme}://{parts.netloc}/.default"
        self._verify = verify
        self._application: msal.ConfidentialClientApplication | None = None
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def build_headers(self) -> dict[str, str]:
        """Build the header with a token that is valid now.

        Raises:
            SourceAuthenticationError: The credential is missing or refused.
            SourceUnavailableError: The sign-in service is unreachable.
            SourceError: It replies with something else, or msal is not installed.
        """
        import httpx  # noqa: PLC0415  # 100 ms

        try:
            import msal  # noqa: PLC0415  # of the extra `sources`
        except ModuleNotFoundError:
            message = "SharePoint needs the Python package msal, which is not installed"
            raise SourceError(message, hint="Install coderag-engine[sources].") from None
        host = urlsplit(self._credential.authority).netloc
        with self._lock:
            try:
                result = self._connect().acquire_token_for_client([self._scope])
            except (httpx.TransportError, msal.exceptions.MsalError) as error:  # the latter: status 500 and above
                message = f"the sign-in service at {host} cannot be reached: {self._redact(str(error))}"
                raise SourceUnavailableError(message) from None
            except (ValueError, KeyError, AttributeError, TypeError) as error:  # a key, an address or a reply
                message = f"no token from the sign-in service at {host}: {self._redact(str(error))}"
                raise SourceError(message, hint="Check the tenant, the authority and the certificate.") from None
        token = result.get("access_token") if isinstance(result, Mapping) else None
        if not token:
            raise self._build_refusal(host, result)
        return {"authorization": f"Bearer {token}"}

    def close(self) -> None:
        """Close the connections, and forget the token."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = self._application = None

    def _build_refusal(self, host: str, result: Any) -> SourceError:  # noqa: ANN401  # of msal, untyped
        error = str((result or {}).get("error", "no token"))
        detail = self._redact(str((result or {}).get("error_description", "")).split("\n", maxsplit=1)[0])
        message = f"the sign-in service at {host} refuses the credential ({error}): {detail}"
        if error in {"temporarily_unavailable", "server_error"}:
            return SourceUnavailableError(message)
        return SourceAuthenticationError(message, hint="Check tenant, client id, and the secret's value and expiry.")

    def _connect(self) -> "msal.ConfidentialClientApplication":
        if self._application is None:
            import httpx  # noqa: PLC0415  # 100 ms
            import msal  # noqa: PLC0415  # of the extra `sources`

            credential = self._credential
            client_credential = self._build_client_credential()
            if self._client is None:
                verify = load_default_context() if self._verify is True else self._verify
                self._client = httpx.Client(timeout=_TIMEOUT_S, verify=verify, follow_redirects=False)
            self._application = msal.ConfidentialClientApplication(
                credential.client_id,
                client_credential=client_credential,
                authority=f"{credential.authority.rstrip('/')}/{credential.tenant}",
                # The address is the user's choice; discovery would ask another host about it.
                instance_discovery=False,
                http_client=self._client,
            )
        return self._application

    def _build_client_credential(self) -> str | dict[str, str]:
        if self._credential.certificate:
            pem = self._credential.certificate
            key = {"private_key": pem, "public_certificate": pem}
            return key | ({"passphrase": self._credential.passphrase} if self._credential.passphrase else {})
        if self._credential.secret:
            return self._credential.secret
        message = "SharePoint has neither a client secret nor a certificate"
        raise SourceAuthenticationError(message, hint="Set one of them in the environment or a key file.")

    def _redact(self, text: str) -> str:
        for secret in (self._credential.secret, self._credential.passphrase):
            text = text.replace(secret, "***") if secret else text
        line = " ".join(text.split())
        return line if len(line) <= _MAX_DETAIL_CHARS else f"{line[:_MAX_DETAIL_CHARS]}…"
