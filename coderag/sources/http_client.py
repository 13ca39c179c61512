"""JSON client of connectors: authentication, retries, limits, and errors without credentials and queries.

Redirects never carry the credential to another host. The client keeps a wait that the server asks for, even after a reply that
succeeded.
"""

import base64
import binascii
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import quote, urljoin, urlsplit

import orjson

from coderag.config.server_addresses import is_same_server, is_this_machine, parse_server_address
from coderag.errors import ConfigurationError, SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.sources.http_replies import find_message, find_wait_s, is_html, parse_object
from coderag.sources.outside_hosts import may_lead_to

if TYPE_CHECKING:
    import ssl

    import httpx
    from tenacity import RetryCallState

MAX_REPLY_BYTES: Final = 64 * 1024 * 1024
_MAX_DETAIL_CHARS = 300  # of a server's message
_MAX_REDIRECTS = 5
_MIN_SECRET_CHARS = 6  # a shorter value is a version or a flag, and would blank out words of messages

HeaderProvider = Callable[[], Mapping[str, str]]
"""Returns the headers that authenticate a request. It may fetch a token first; it raises `SourceError` if it cannot."""


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """Limits of requests, and of their repetition.

    Attributes:
        attempts: Total number of requests if each fails.
        first_wait_s: Seconds before the second request, doubled before each further one.
        max_wait_s: Longest single wait in seconds; a server that asks for more counts as unavailable.
        timeout_s: Seconds without a byte after which a request fails.
        deadline_s: Seconds that one reply may take in all.
        sleep: Waits, given seconds.
        verify: Context for certificates; the default trusts the system's, and those of ``SSL_CERT_FILE``.
    """

    attempts: int = 5
    first_wait_s: float = 1.0
    max_wait_s: float = 120.0
    timeout_s: float = 30.0
    deadline_s: float = 300.0
    sleep: Callable[[float], None] = time.sleep
    verify: "ssl.SSLContext | bool" = True


@dataclass(frozen=True, slots=True)
class JSONReply:
    """A reply. `content` is its JSON object; it may be empty with an error status."""

    status: int
    content: dict[str, Any]
    headers: Mapping[str, str]


@dataclass(slots=True)
class RequestCounts:
    """Counts of a client: requests in all, repeated ones among them, and seconds of waiting."""

    requests: int = 0
    retries: int = 0
    waited_s: float = 0.0


class _TransientFault(Exception):
    """A failed request that may succeed if it is repeated."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    params: Mapping[str, Any] | None = None
    body: bytes | None = None
    max_bytes: int = MAX_REPLY_BYTES
    is_download: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _RawReply:
    status: int
    headers: Mapping[str, str]
    body: bytes


class JSONClient:
    """A client of one JSON API, for several threads.

    Args:
        base_url: Address of the API; paths are relative to it. It must be https, or on this machine.
        name: Name of the system in messages, such as "ClickUp".
        authenticate: Provides the headers with the credential for each request.
        policy: Limits of requests.
        before_request: Called before each request, for example to keep a rate.

    Raises:
        ConfigurationError: The address is invalid, or would send the credential unencrypted.
    """

    def __init__(
        self,
        base_url: str,
        *,
        name: str,
        authenticate: HeaderProvider,
        policy: RequestPolicy | None = None,
        before_request: Callable[[], None] | None = None,
    ) -> None:
        self.base_url = parse_server_address(base_url, f"the address of {name}")
        if not _is_safe_address(self.base_url):
            message = f"the address of {name}, {self.base_url}, would send the credential unencrypted"
            raise ConfigurationError(message, hint="Use an address that begins with https://.")
        self.name = name
        self.host = urlsplit(self.base_url).netloc
        self.counts = RequestCounts()
        self._authenticate = authenticate
        self._secrets: set[str] = set()
        self._policy = policy or RequestPolicy()
        self._before_request = before_request
        self._earliest = 0.0  # monotonic seconds before which the server wants no request
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def get(
        self,
        path: str,
        params: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        statuses: Collection[int] = (),
    ) -> JSONReply:
        """Request a path.

        Args:
            path: Path relative to the base address, or a whole address of the same server, such as a link to a next page.
            params: Values of the query.
            headers: Further headers, without secrets.
            statuses: Error statuses to return instead of raising, such as 404.

        Raises:
            SourceAuthenticationError: The credential is refused (status 401 or 403, or a sign-in page).
            SourceUnavailableError: The server is unreachable or overloaded, also after the retries.
            SourceError: The reply is no JSON object, is too large, leads to another host, or has another error status.
        """
        return self._request_json(_Request("GET", self._resolve(path), params, headers=headers or {}), statuses)

    def post(
        self, path: str, body: object, params: Mapping[str, Any] | None = None, *, statuses: Collection[int] = ()
    ) -> JSONReply:
        """Send a JSON body to a path that only reads, since a failed request is repeated. See `get`."""
        return self._request_json(_Request("POST", self._resolve(path), params, orjson.dumps(body)), statuses)

    def download(self, url: str, max_bytes: int) -> bytes | None:
        """Download a file from this server, or without the credential from an address of another host.

        Args:
            url: Path or address; another host needs https, or must be this machine.
            max_bytes: Largest size in bytes.

        Returns:
            The bytes; None if the server says that the file is gone (status 404 or 410).

        Raises:
            SourceError: As `get`; also if the file is larger.
        """
        request = _Request("GET", self._resolve(url, is_download=True), max_bytes=max_bytes, is_download=True)
        reply = self._repeat(request)
        if reply.status in {404, 410}:
            return None
        if reply.status >= 300:
            self._raise_status(reply, request.url)
        return reply.body

    def describe(self, url: str) -> str:
        """Describe an address for messages: the path at this server, or another host. Never the query."""
        if not is_same_server(url, self.base_url):
            return f"{self.name}, download from {urlsplit(url).hostname}"
        return f"{self.name} at {self.host}, {self.redact(urlsplit(url).path)}"

    def redact(self, text: str) -> str:
        """Return a text of the server as one short line, without the client's secrets."""
        for secret in sorted(frozenset(self._secrets), key=len, reverse=True):
            if len(secret) >= _MIN_SECRET_CHARS:
                text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
        line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable()).rstrip(".")
        return line if len(line) <= _MAX_DETAIL_CHARS else f"{line[:_MAX_DETAIL_CHARS]}…"

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _resolve(self, url: str, *, is_download: bool = False) -> str:
        try:
            parts = urlsplit(url)
            is_same = is_same_server(url, self.base_url)
        except ValueError:
            message = f"{self.name} at {self.host} leads to an invalid address"
            raise SourceError(message) from None
        if not parts.scheme and not parts.netloc:
            return f"{self.base_url}/{url.lstrip('/')}"
        if "@" in parts.netloc or not (is_download or is_same):
            message = f"{self.name} at {self.host} leads to another host, {parts.hostname}, which gets no credential"
            raise SourceError(message)
        if not _is_safe_address(url):
            message = f"{self.name} at {self.host} leads to an address without encryption at {parts.hostname}"
            raise SourceError(message)
        if not is_same and not may_lead_to(url, self.base_url):
            message = f"{self.name} at {self.host} leads into a private network, to {parts.hostname}"
            raise SourceError(message)
        return url

    def _request_json(self, request: _Request, statuses: Collection[int]) -> JSONReply:
        reply = self._repeat(request)
        if reply.status in statuses:
            return JSONReply(reply.status, parse_object(reply.body) or {}, reply.headers)
        if reply.status >= 300:
            self._raise_status(reply, request.url)
        if is_html(reply.headers.get("content-type", ""), reply.body):
            self._raise_page(reply, request.url)
        content = parse_object(reply.body)
        if content is None:
            message = f"{self.describe(request.url)}: the reply is not a JSON object"
            raise SourceError(message, hint="Check the address of the source.")
        return JSONReply(reply.status, content, reply.headers)

    def _raise_page(self, reply: _RawReply, url: str) -> NoReturn:
        message = f"{self.describe(url)}: an HTML page came instead of JSON"
        if reply.status == 203:  # Azure DevOps: its sign-in page
            raise SourceAuthenticationError(f"{message}, to sign in", hint="Check the credential of the source.")
        raise SourceError(message, hint="Check the address and the credential; it may be a page to sign in.")

    def _raise_status(self, reply: _RawReply, url: str) -> NoReturn:
        detail = self.redact(find_message(reply.body))
        suffix = f": {detail}" if detail else ""
        if reply.status in {401, 403}:
            message = f"{self.describe(url)}: the credential is refused (status {reply.status}){suffix}"
            raise SourceAuthenticationError(message, hint="Check the credential, its expiry and what it may read.")
        message = f"{self.describe(url)}: the request is refused (status {reply.status}){suffix}"
        raise SourceError(message, hint="Check the address and the scope of the source." if reply.status == 404 else "")

    def _repeat(self, request: _Request) -> _RawReply:
        """Send a request, and repeat it after transient faults."""
        from tenacity import Retrying, retry_if_exception, stop_after_attempt  # noqa: PLC0415  # 50 ms

        retrying = Retrying(
            retry=retry_if_exception(self._is_worth_repeating),
            stop=stop_after_attempt(self._policy.attempts),
            wait=self._compute_wait_s,
            sleep=self._wait,
            before_sleep=self._count_retry,
            reraise=True,
        )
        try:
            return retrying(partial(self._send, request))
        except _TransientFault as fault:
            message = f"{self.describe(request.url)}: {fault}"
            hint = "Synchronise again later; it continues where it stopped."
            raise SourceUnavailableError(message, hint=hint) from None

    def _is_worth_repeating(self, error: BaseException) -> bool:
        return isinstance(error, _TransientFault) and (error.wait_s or 0.0) <= self._policy.max_wait_s

    def _compute_wait_s(self, state: "RetryCallState") -> float:
        fault = state.outcome.exception() if state.outcome else None
        backoff_s = min(self._policy.first_wait_s * 2.0 ** (state.attempt_number - 1), self._policy.max_wait_s)
        return max(backoff_s, getattr(fault, "wait_s", None) or 0.0)

    def _count_retry(self, _state: "RetryCallState") -> None:
        with self._lock:
            self.counts.retries += 1

    def _wait(self, seconds: float) -> None:
        with self._lock:
            self.counts.waited_s += seconds
        self._policy.sleep(seconds)

    def _send(self, request: _Request) -> _RawReply:
        """Send a request once, following redirects of this server, and of other hosts without the credential."""
        url, params = request.url, request.params
        for _ in range(_MAX_REDIRECTS + 1):
            if (pause_s := self._earliest - time.monotonic()) > 0:
                self._earliest = 0.0
                self._wait(pause_s)
            if self._before_request is not None:
                self._before_request()
            with self._lock:
                self.counts.requests += 1
            reply = self._exchange(request, url, params)
            wait_s = find_wait_s(reply.status, reply.headers)
            if reply.status in {408, 429} or reply.status >= 500:
                detail = self.redact(find_message(reply.body))
                state = "overloaded" if reply.status in {429, 503} else "out of order"
                reason = f"the server is {state} (status {reply.status})" + (f": {detail}" if detail else "")
                raise _TransientFault(reason + (f"; it asks to wait {wait_s:.0f} s" if wait_s else ""), wait_s)
            if wait_s:
                self._earliest = time.monotonic() + min(wait_s, self._policy.max_wait_s)
            if reply.status not in {301, 302, 303, 307, 308}:
                return reply
            url, params = self._resolve_redirect(request, url, reply.headers.get("location", "")), None
        message = f"{self.describe(request.url)}: more than {_MAX_REDIRECTS} redirects"
        raise SourceError(message)

    def _resolve_redirect(self, request: _Request, url: str, location: str) -> str:
        try:
            target = urljoin(url, location)
            host = urlsplit(target).hostname
            is_same = is_same_server(target, self.base_url)
        except ValueError:
            host, is_same = "", False
        is_refused = not location or (not is_same and not request.is_download) or request.method != "GET"
        if is_refused or not _is_safe_address(target) or not (is_same or may_lead_to(target, self.base_url)):
            message = f"{self.describe(request.url)}: the reply redirects to {host or 'an invalid address'}"
            raise SourceError(message, hint="Check the address and the credential; it may be a page to sign in.")
        return target

    def _exchange(self, request: _Request, url: str, params: Mapping[str, Any] | None) -> _RawReply:
        import httpx  # noqa: PLC0415  # 100 ms

        headers = self._build_headers(request, url)
        try:
            content = request.body
            with self._connect().stream(
                request.method, url, params=params or None, content=content, headers=headers
            ) as reply:
                return _RawReply(reply.status_code, reply.headers, self._read_body(request, reply))
        except httpx.TimeoutException:
            reason = f"no answer within {self._policy.timeout_s:g} s"
            raise _TransientFault(reason) from None
        except httpx.TransportError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                message = f"{self.describe(url)}: the server's certificate is not trusted"
                hint = "Name the file of your certificate authority in SSL_CERT_FILE."
                raise SourceError(message, hint=hint) from None
            reason = self.redact(str(error)) or type(error).__name__
            raise _TransientFault(f"cannot be reached ({reason})") from None
        except (httpx.RequestError, httpx.InvalidURL) as error:
            message = f"{self.describe(url)}: the reply cannot be read ({type(error).__name__})"
            raise SourceError(message) from None

    def _build_headers(self, request: _Request, url: str) -> dict[str, str]:
        """Build the headers of a request; those with the credential only for the client's own server."""
        headers = {"accept": "*/*" if request.is_download else "application/json", **request.headers}
        if request.body is not None:
            headers["content-type"] = "application/json"
        if not is_same_server(url, self.base_url):
            return headers
        credential = self._authenticate()
        for value in credential.values():
            if not (value.isascii() and value.isprintable()):
                message = f"the credential of {self.name} has characters that a header may not have"
                raise SourceAuthenticationError(message, hint="Check it for line breaks and quotes.")
            self._secrets |= _split_secrets(value)
        return headers | dict(credential)

    def _read_body(self, request: _Request, reply: "httpx.Response") -> bytes:
        """Read a body within the limits of size, which counts after decompression, and time."""
        end = time.monotonic() + self._policy.deadline_s
        body = bytearray()
        for part in reply.iter_bytes():
            body += part
            if len(body) > request.max_bytes:
                message = f"{self.describe(request.url)}: the reply is larger than {request.max_bytes:,} bytes"
                raise SourceError(message)
            if time.monotonic() > end:
                reason = f"no complete reply within {self._policy.deadline_s:g} s"
                raise _TransientFault(reason)
        return bytes(body)

    def _connect(self) -> "httpx.Client":
        import httpx  # noqa: PLC0415  # 100 ms

        with self._lock:
            if self._client is None:
                self._client = httpx.Client(
                    timeout=self._policy.timeout_s,
                    follow_redirects=False,
                    trust_env=not is_this_machine(self.base_url),
                    verify=load_default_context() if self._policy.verify is True else self._policy.verify,
                    cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # a cookie may be a credential
                )
            return self._client


@cache
def load_default_context() -> "ssl.SSLContext":
    """Load the certificates that are trusted by default, once: it takes 50 ms."""
    import httpx  # noqa: PLC0415  # 100 ms

    return httpx.create_ssl_context()


def _is_safe_address(url: str) -> bool:
    return urlsplit(url).scheme == "https" or (urlsplit(url).scheme == "http" and is_this_machine(url))


def _split_secrets(value: str) -> set[str]:
    """Return the secrets of a header's value: itself, its token, and the password of a Basic one."""
    scheme, _, token = value.partition(" ")
    secrets = {value, token}
    if scheme.lower() == "basic":
        with suppress(binascii.Error):
            secrets.add(base64.b64decode(token).decode("utf-8", "replace").partition(":")[2])
    return secrets - {""}
