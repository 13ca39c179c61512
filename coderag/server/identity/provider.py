"""The OpenID Connect provider: its metadata and its keys, fetched and cached."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2  # the HTTP library of Authlib
from authlib.integrations.httpx_client import OAuth2Client
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet

from coderag.errors import ConfigurationError, ProviderUnavailableError
from coderag.server.settings import OidcSettings

CACHE_S: Final = 3_600.0
"""Seconds that metadata and keys are used before they are fetched again."""

REFRESH_INTERVAL_S: Final = 60.0
"""Minimum seconds between two fetches of the keys because of a key that is unknown."""

FETCH_ERRORS: Final = (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, RecursionError)
"""Errors of a request to the provider, or of what it sends."""

_FAILURE_S: Final = 5.0
_TIMEOUT: Final = httpx2.Timeout(10.0, connect=5.0)
_MAX_DOCUMENT_BYTES: Final = 1 << 20
_MAX_KEYS: Final = 100
_KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})
_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class OidcProvider:
    """Metadata and keys of the provider. Shared by threads.

    Args:
        settings: Settings of the provider.
        clock: Seconds, monotonic.

    Raises:
        ConfigurationError: The issuer is no URL, or not of https.
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.issuer = settings.issuer
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._metadata: Mapping[str, Any] | None = None
        self._keys: KeySet | None = None
        self._metadata_at = self._keys_at = self._refreshed_at = self._failed_at = float("-inf")
        if not settings.client_id:
            raise ConfigurationError("oidc.client_id is missing", hint="Set it to the id that the provider gave.")
        if not _is_secure(self.issuer):
            message = f"oidc.issuer {self.issuer!r} is not a URL with https"
            raise ConfigurationError(message, hint="Use https; only a provider on this machine may have http.")

    def create_client(self, redirect_uri: str) -> OAuth2Client:
        """Create a client of the provider; the caller closes it."""
        settings = self._settings
        secret = settings.client_secret.get_secret_value()
        methods = self.read_metadata().get("token_endpoint_auth_methods_supported")
        takes_basic = not isinstance(methods, list) or "client_secret_basic" in methods
        return OAuth2Client(
            client_id=settings.client_id,
            client_secret=secret or None,
            token_endpoint_auth_method=("client_secret_basic" if takes_basic else "client_secret_post")
            if secret
            else "none",
            scope=" ".join(settings.scopes),
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            timeout=_TIMEOUT,
        )

    def read_metadata(self) -> Mapping[str, Any]:
        """Return the metadata of the provider.

        Raises:
            ConfigurationError: It is of another issuer, or has no secure endpoints.
            ProviderUnavailableError: The provider does not answer, or not with metadata.
        """
        with self._lock:
            return self._read_metadata()

    def read_keys(self) -> KeySet:
        """Return the public keys of the provider.

        Raises as `read_metadata`.
        """
        with self._lock:
            if self._keys is None or self._clock() >= self._keys_at + CACHE_S:
                self._keys = self._fetch_keys()
            return self._keys

    def refresh_keys(self, *, is_forced: bool = False) -> KeySet | None:
        """Fetch the keys again, as one is unknown; None if that was done a moment ago.

        Args:
            is_forced: Whether to fetch them in any case, for a token that the provider itself has sent.

        Raises as `read_metadata`.
        """
        with self._lock:
            now = self._clock()
            if not is_forced and now < self._refreshed_at + REFRESH_INTERVAL_S:
                return None
            self._refreshed_at = now  # a failure counts, too: strangers decide how often this is called
            self._keys = self._fetch_keys()
            return self._keys

    def fetch_user_info(self, access_token: str) -> Mapping[str, Any] | None:
        """Fetch the claims about the person of an access token; None if the provider has no endpoint for it.

        Raises as `read_metadata`.
        """
        endpoint = str(self.read_metadata().get("userinfo_endpoint", ""))
        if not _is_secure(endpoint):
            return None
        try:
            with httpx2.Client(timeout=_TIMEOUT) as client:
                return fetch_document(client, endpoint, {"authorization": f"Bearer {access_token}"})
        except FETCH_ERRORS as error:
            raise self._make_error(describe_fault(error)) from error

    def _read_metadata(self) -> Mapping[str, Any]:
        if self._metadata is None or self._clock() >= self._metadata_at + CACHE_S:
            self._metadata = self._check_metadata(
                self._fetch(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
            )
            self._metadata_at = self._clock()
        return self._metadata

    def _check_metadata(self, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        given = metadata.get("issuer")
        if given != self.issuer:
            message = f"the provider calls itself {str(given)[:200]!r}, not {self.issuer!r}"
            raise ConfigurationError(message, hint="Set oidc.issuer to exactly that name.")
        for name in _ENDPOINTS:
            if not _is_secure(str(metadata.get(name, ""))):
                message = f"the provider's {name} is not a URL with https"
                raise ConfigurationError(message, hint="Check oidc.issuer.")
        return metadata

    def _fetch_keys(self) -> KeySet:
        document = self._fetch(str(self._read_metadata()["jwks_uri"]))
        try:
            keys = import_public_keys(document)
        except ValueError as error:
            raise self._make_error(describe_fault(error)) from error
        self._keys_at = self._clock()
        return keys

    def _fetch(self, url: str) -> Mapping[str, Any]:
        now = self._clock()
        if now < self._failed_at + _FAILURE_S:  # threads must not queue up for a provider that is down
            raise self._make_error("does not answer")
        try:
            with httpx2.Client(timeout=_TIMEOUT) as client:
                return fetch_document(client, url)
        except FETCH_ERRORS as error:
            self._failed_at = self._clock()
            raise self._make_error(describe_fault(error)) from error

    def _make_error(self, fault: str) -> ProviderUnavailableError:
        return make_provider_error(self.issuer, fault)


def make_provider_error(issuer: str, fault: str) -> ProviderUnavailableError:
    """Make the error of a provider that cannot be used now."""
    host = urlsplit(issuer).netloc
    return ProviderUnavailableError(f"the sign-in provider {host} {fault}", hint="Try again in a moment.")


def describe_fault(error: Exception) -> str:
    """Describe a failed request to a provider, without the texts that it sent."""
    if isinstance(error, httpx2.HTTPStatusError):
        return f"replied with status {error.response.status_code}"
    if isinstance(error, httpx2.TimeoutException):
        return "does not answer in time"
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
        return "does not answer"
    return "sent something unusable"


def fetch_document(client: httpx2.Client, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """Fetch a JSON object of limited size.

    Raises:
        httpx2.HTTPError: The request failed.
        ValueError: The reply is too large, or is no object.
    """
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code != httpx2.codes.OK:
            response.raise_for_status()
            raise ValueError("the reply is a redirect")
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > _MAX_DOCUMENT_BYTES:
                raise ValueError("the reply is too large")
    document = json.loads(bytes(body))
    if not isinstance(document, dict):
        raise ValueError("the reply is no JSON object")
    return document


def import_public_keys(document: Mapping[str, Any]) -> KeySet:
    """Import the asymmetric keys for signatures of a key set; others are left out.

    Raises:
        ValueError: There is none.
    """
    listed = document.get("keys")
    keys = []
    for entry in listed[:_MAX_KEYS] if isinstance(listed, list) else ():
        if not isinstance(entry, dict) or entry.get("kty") not in _KEY_TYPES or entry.get("use", "sig") != "sig":
            continue
        try:
            keys.append(JWKRegistry.import_key(entry))
        except (JoseError, ValueError, TypeError, KeyError):
            continue  # a key of a kind that is not known yet
    if not keys:
        raise ValueError("the key set has no usable key")
    return KeySet(keys)


def _is_secure(url: str) -> bool:
    """Return whether a URL is encrypted on its way, or stays on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.username or not host:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
