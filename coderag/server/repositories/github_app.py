"""Installation tokens of GitHub Apps: a signed token of the app is exchanged for one that reads repositories."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import httpx
from joserfc import jwt
from joserfc.jwk import RSAKey

from coderag.errors import GitFetchError, GitUnavailableError
from coderag.server.repositories.git_url import GitAddress, check_url
from coderag.server.settings import RepositorySettings
from coderag.server.storage.columns import get_time
from coderag.system.host_addresses import HostResolver

GITHUB_HOST: Final = "github.com"
_ALGORITHM: Final = "RS256"
_TIMEOUT_S: Final = 20.0
_ASSERTION_S: Final = 540  # GitHub takes at most ten minutes
_CLOCK_SKEW_S: Final = 60
_EARLY: Final = timedelta(minutes=5)  # a fetch may begin with the token's last seconds
_MAX_REPLY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class GitHubAppInstallation:
    """An installation of a GitHub App.

    Attributes:
        api_url: Base URL of the REST API.
        app_id: Id or client id of the app.
        installation_id: Id of the installation.
        private_key: Its private key as PEM.
    """

    api_url: str
    app_id: str
    installation_id: str
    private_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Token:
    secret: str = field(repr=False)
    expires_at: datetime


def get_api_url(host: str) -> str:
    """Return the base URL of the REST API of a host: GitHub, or a GitHub Enterprise Server."""
    return f"https://api.{GITHUB_HOST}" if host == GITHUB_HOST else f"https://{host}/api/v3"


class InstallationTokens:
    """Installation tokens, kept until shortly before they expire. Thread-safe.

    Args:
        settings: Accepted schemes and hosts, as for URLs of repositories.
        resolve: Looks up addresses.
        clock: Returns the current time.
    """

    def __init__(
        self, settings: RepositorySettings, *, resolve: HostResolver, clock: Callable[[], datetime] = get_time
    ) -> None:
        self._settings = settings
        self._resolve = resolve
        self._clock = clock
        self._tokens: dict[GitHubAppInstallation, _Token] = {}
        self._locks: dict[GitHubAppInstallation, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, installation: GitHubAppInstallation) -> str:
        """Return a valid token, exchanged once for all threads.

        Raises:
            GitFetchError: GitHub refuses the app or the installation.
            GitUnavailableError: GitHub does not answer.
        """
        with self._lock:
            lock = self._locks.setdefault(installation, threading.Lock())
        with lock:
            token = self._tokens.get(installation)
            if token is None or token.expires_at - _EARLY <= self._clock():
                token = self._tokens[installation] = self._exchange(installation)
            return token.secret

    def forget(self, installation: GitHubAppInstallation) -> None:
        """Drop the token of an installation."""
        with self._lock:
            self._tokens.pop(installation, None)
            self._locks.pop(installation, None)

    def _exchange(self, installation: GitHubAppInstallation) -> _Token:
        path = f"/app/installations/{installation.installation_id}/access_tokens"
        address = check_url(installation.api_url.rstrip("/") + path, self._settings, resolve=self._resolve)
        try:
            # Certificates of the environment count, as they do for git; its proxies do not.
            certificates = httpx.create_ssl_context()
            with httpx.Client(
                timeout=_TIMEOUT_S, follow_redirects=False, trust_env=False, verify=certificates
            ) as client:
                request = _build_request(client, address, self._sign(installation))
                reply = client.send(request, stream=True)
                content = _read_limited(reply)
        except httpx.HTTPError as error:
            message = f"the API of {address.url.host} cannot be reached: {type(error).__name__}"
            raise GitUnavailableError(message, hint="Check that this server can reach it.") from error
        return _parse_reply(reply.status_code, content)

    def _sign(self, installation: GitHubAppInstallation) -> str:
        now = int(self._clock().timestamp())
        claims = {"iat": now - _CLOCK_SKEW_S, "exp": now + _ASSERTION_S, "iss": installation.app_id}
        key = RSAKey.import_key(installation.private_key)
        return jwt.encode({"alg": _ALGORITHM}, claims, key, algorithms=[_ALGORITHM])


def _build_request(client: httpx.Client, address: GitAddress, assertion: str) -> httpx.Request:
    """Build the request to the address that was checked; TLS still verifies the name of the host."""
    url = httpx.URL(address.url.text)
    headers = {
        "Host": url.netloc.decode("ascii"),
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {assertion}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    pinned = url.copy_with(host=str(address.addresses[0]))
    return client.build_request("POST", pinned, headers=headers, extensions={"sni_hostname": address.url.host})


def _read_limited(reply: httpx.Response) -> bytes:
    content = b""
    try:
        for chunk in reply.iter_bytes():
            content += chunk
            if len(content) > _MAX_REPLY_BYTES:
                raise GitUnavailableError("the reply to a request for an installation token is too long")
    finally:
        reply.close()
    return content


def _parse_reply(status: int, content: bytes) -> _Token:
    if status in (401, 403, 404, 422):
        message = f"GitHub refuses the app or its installation with status {status}"
        raise GitFetchError(message, hint="Check the id of the app, its private key and the id of the installation.")
    if status != 201:
        message = f"GitHub replies with status {status} to a request for an installation token"
        raise GitUnavailableError(message, hint="Try again later.")
    try:
        values = json.loads(content)
        secret, expires_at = values["token"], datetime.fromisoformat(values["expires_at"])
        if not isinstance(secret, str) or not secret.isascii() or not secret.isprintable():
            raise ValueError("no token")
    except (ValueError, KeyError, TypeError):
        raise GitUnavailableError("the reply to a request for an installation token cannot be read") from None
    return _Token(secret, expires_at if expires_at.tzinfo is not None else expires_at.replace(tzinfo=UTC))
