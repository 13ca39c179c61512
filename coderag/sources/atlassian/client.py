"""Client of Confluence and Jira on `atlassian-python-api`: retries, size limits, and errors without credentials.

Of the library this uses the connection, the authentication and the one low-level request. Its helpers drop pages, wait for
half an hour in silence, turn broken JSON into text and decode every body for its debug log.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import quote, urljoin, urlsplit

from coderag.config.server_addresses import is_same_server, is_this_machine, parse_server_address
from coderag.errors import ConfigurationError, SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.sources.http_client import MAX_REPLY_BYTES, RequestPolicy
from coderag.sources.http_replies import find_wait_s, is_html
from coderag.sources.outside_hosts import may_lead_to

if TYPE_CHECKING:
    from atlassian.rest_client import AtlassianRestAPI
    from requests import Response
    from tenacity import RetryCallState

_MAX_DETAIL_CHARS: Final = 300  # of a server's message
_MAX_REDIRECTS: Final = 5
_MIN_SECRET_CHARS: Final = 6
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
# A refused key may read as nobody, with status 200 and nothing in the reply. Source:
# https://support.atlassian.com/jira/kb/how-to-diagnose-login-problems-with-seraph-in-jira
_REFUSED_LOGINS: Final = frozenset({"AUTHENTICATED_FAILED", "AUTHENTICATION_DENIED", "AUTHORISATION_FAILED"})


class AtlassianStatusError(SourceError):
    """A request that the server refused with a status other than those of credentials and overload.

    Attributes:
        status: The HTTP status.
    """

    def __init__(self, message: str, status: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class AtlassianForbiddenError(SourceAuthenticationError):
    """A request that the account may not make (status 403); others may succeed."""


@dataclass(frozen=True, slots=True)
class AtlassianLogin:
    """Address and credential of a Confluence or Jira.

    Attributes:
        email: Account on Cloud, or user name for basic authentication on Data Center; empty with a personal access token.
        secret: API token, personal access token or password.
    """

    address: str
    email: str
    secret: str
    is_cloud: bool

    def __repr__(self) -> str:
        return f"AtlassianLogin({self.address!r}, is_cloud={self.is_cloud})"


def is_cloud_address(address: str) -> bool:
    """Return whether an address is one of Atlassian's Cloud; any other is a Data Center."""
    host = urlsplit(address).hostname or ""
    return host == "api.atlassian.com" or host.endswith((".atlassian.net", ".jira.com"))


class _TransientFault(Exception):
    """A failed request that may succeed if it is repeated."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class AtlassianClient:
    """A client of one Confluence or Jira.

    Args:
        login: Address and credential. The address must be https, or on this machine.
        name: Name of the system in messages, "Confluence" or "Jira".
        policy: Limits of repetition and time.

    Raises:
        ConfigurationError: The address is invalid, or would send the credential unencrypted.
        SourceAuthenticationError: The credential is missing or cannot be sent.
    """

    def __init__(
        self,
        login: AtlassianLogin,
        name: str,
        policy: RequestPolicy | None = None,
    ) -> None:
        self.base_url = parse_server_address(login.address, f"the address of {name}")
        self.name = name
        self.host = urlsplit(self.base_url).netloc
        if not _is_safe_address(self.base_url):
            message = f"the address of {name}, {self.base_url}, would send the credential unencrypted"
            raise ConfigurationError(message, hint="Use an address that begins with https://.")
        _check_login(login, name)
        self._login = login
        self._policy = policy or RequestPolicy()
        self._api: AtlassianRestAPI | None = None

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Request a path relative to the base address, and return its JSON object.

        Raises:
            SourceAuthenticationError: The credential is refused, or a page to sign in came.
            SourceUnavailableError: The server is unreachable or overloaded, also after the retries.
            AtlassianStatusError: The server refuses the request with another status.
            SourceError: The reply is no JSON object.
        """
        return self._parse_object(self._repeat("GET", path, params, None), path)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a JSON body to a path that only reads, since a failed request is repeated. See `get`."""
        return self._parse_object(self._repeat("POST", path, None, body), path)

    def get_list(self, path: str) -> list[dict[str, Any]]:
        """Request a path whose reply is a JSON array, and return its objects. See `get`."""
        content = self._parse(self._repeat("GET", path, None, None), path)
        if not isinstance(content, list):
            message = f"{self.describe(path)}: the reply is not a JSON array"
            raise SourceError(message)
        return [entry for entry in content if isinstance(entry, dict)]

    def download(self, path: str, max_bytes: int) -> bytes | None:
        """Download a file; redirects to other hosts are followed without the credential.

        Returns:
            The bytes; None if the server says that the file is gone.

        Raises:
            SourceError: As `get`; also if the file is larger than `max_bytes`.
        """
        try:
            response = self._repeat("GET", path, None, None, is_download=True)
        except AtlassianStatusError as error:
            if error.status in {404, 410}:
                return None
            raise
        if len(response.content) > max_bytes:
            message = f"{self.describe(path)}: the file is larger than {max_bytes:,} bytes"
            raise SourceError(message)
        return response.content

    def describe(self, path: str) -> str:
        """Describe a request for messages: the system, its host and the path, never the query."""
        return f"{self.name} at {self.host}, {self._redact(urlsplit(path).path)}"

    def close(self) -> None:
        """Close the connections."""
        if self._api is not None:
            self._api.close()
            self._api = None

    def _repeat(
        self, method: str, path: str, params: Mapping[str, Any] | None, body: object, *, is_download: bool = False
    ) -> "Response":
        """Send a request, and repeat it after transient faults."""
        from tenacity import Retrying, retry_if_exception, stop_after_attempt  # noqa: PLC0415  # 50 ms

        retrying = Retrying(
            retry=retry_if_exception(self._is_worth_repeating),
            stop=stop_after_attempt(self._policy.attempts),
            wait=self._compute_wait_s,
            sleep=self._policy.sleep,
            reraise=True,
        )
        try:
            response = retrying(self._send, method, path, params, body, is_download)
        except _TransientFault as fault:
            message = f"{self.describe(path)}: {fault}"
        else:
            self._check_reply(response, path)
            return response
        raise SourceUnavailableError(message, hint="Synchronise again later; it continues where it stopped.")

    def _is_worth_repeating(self, error: BaseException) -> bool:
        return isinstance(error, _TransientFault) and (error.wait_s or 0.0) <= self._policy.max_wait_s

    def _compute_wait_s(self, state: "RetryCallState") -> float:
        fault = state.outcome.exception() if state.outcome else None
        backoff_s = min(self._policy.first_wait_s * 2.0 ** (state.attempt_number - 1), self._policy.max_wait_s)
        asked_s = getattr(fault, "wait_s", None)
        return backoff_s if asked_s is None else max(0.0, float(asked_s))

    def _send(
        self, method: str, path: str, params: Mapping[str, Any] | None, body: object, is_download: bool
    ) -> "Response":
        """Send a request once. Downloads follow redirects, and other hosts get no credential."""
        url = f"{self.base_url}/{path.lstrip('/')}"
        response = self._exchange(method, url, params, body)
        for _ in range(_MAX_REDIRECTS):
            if not is_download or response.status_code not in _REDIRECTS:
                break
            url = urljoin(url, response.headers.get("location", ""))
            if not _is_safe_address(url):
                message = f"{self.describe(path)}: the reply redirects to an address without encryption"
                raise SourceError(message)
            if is_same_server(url, self.base_url):
                response = self._exchange("GET", url, None, None)
            elif not may_lead_to(url, self.base_url):
                message = (
                    f"{self.describe(path)}: the reply redirects into a private network, to {urlsplit(url).hostname}"
                )
                raise SourceError(message)
            else:
                response = self._fetch_elsewhere(url)
        status = response.status_code
        if status in {408, 429} or status >= 500:
            wait_s = find_wait_s(status, {name.lower(): value for name, value in response.headers.items()})
            detail = self._find_message(response)
            reason = f"status {status}" + (f", {detail}" if detail else "")
            raise _TransientFault(reason + (f"; it asks to wait {wait_s:.0f} s" if wait_s else ""), wait_s)
        return response

    def _exchange(self, method: str, url: str, params: Mapping[str, Any] | None, body: object) -> "Response":
        api = self._connect()
        return self._translate_faults(
            lambda: api.request(
                method,
                url,
                params=dict(params) if params else None,
                json=body,  # type: ignore[arg-type]
                absolute=True,
                advanced_mode=True,
                allow_redirects=False,
            )
        )

    def _fetch_elsewhere(self, url: str) -> "Response":
        """Fetch a file from another host, with a session that has no credential."""
        from coderag.sources.atlassian.bounded_session import BoundedSession  # noqa: PLC0415  # 100 ms

        with BoundedSession(MAX_REPLY_BYTES, self._policy.deadline_s) as session:
            session.auth = _send_unchanged
            return self._translate_faults(
                lambda: session.request("GET", url, timeout=self._policy.timeout_s, allow_redirects=False)
            )

    def _translate_faults(self, send: Callable[[], "Response"]) -> "Response":
        """Turn the library's exceptions into faults. They refer to the request and its credential, so none is chained."""
        import requests  # noqa: PLC0415  # 100 ms

        from coderag.sources.atlassian.bounded_session import OversizedReplyError  # noqa: PLC0415  # as above

        try:
            return send()
        except requests.exceptions.SSLError:
            fault: Exception = SourceError(
                f"{self.name} at {self.host}: the server's certificate is not trusted",
                hint="Name the file of your certificate authority in REQUESTS_CA_BUNDLE.",
            )
        except OversizedReplyError as error:
            fault = SourceError(f"{self.name} at {self.host}: {error}")
        except requests.Timeout:
            fault = _TransientFault(f"no answer within {self._policy.timeout_s:g} s")
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
            fault = _TransientFault(f"cannot be reached ({type(error).__name__})")
        except requests.RequestException as error:
            fault = SourceError(f"{self.name} at {self.host}: the reply cannot be read ({type(error).__name__})")
        raise fault

    def _check_reply(self, response: "Response", path: str) -> None:
        status = response.status_code
        refusal = response.headers.get("X-Seraph-LoginReason", "")
        is_refused = status == 401 or any(reason in refusal for reason in _REFUSED_LOGINS)
        if is_refused or status == 403:
            detail = self._find_message(response) or refusal
            message = f"{self.describe(path)}: the credential is refused (status {status})"
            hint = "Check the credential, its expiry, what it may read, and whether the system asks for a CAPTCHA."
            error = SourceAuthenticationError if is_refused else AtlassianForbiddenError
            raise error(f"{message}: {detail}" if detail else message, hint=hint)
        if status in _REDIRECTS:
            target = urlsplit(response.headers.get("location", ""))
            self._raise_redirect(f"{target.hostname or self.host}{target.path}", path)
        if status >= 300:
            detail = self._find_message(response)
            message = f"{self.describe(path)}: the request is refused (status {status})"
            hint = "Check the address and the scope of the source." if status in {400, 404} else ""
            raise AtlassianStatusError(f"{message}: {detail}" if detail else message, status, hint=hint)

    def _raise_redirect(self, target: str, path: str) -> NoReturn:
        message = f"{self.describe(path)}: the reply redirects to {self._redact(target)}"
        if "login" in target or "sso" in target or "saml" in target.lower():
            raise SourceAuthenticationError(f"{message}, to sign in", hint="Check the credential of the source.")
        raise SourceError(message, hint="Use the address that it redirects to.")

    def _parse_object(self, response: "Response", path: str) -> dict[str, Any]:
        content = self._parse(response, path)
        if not isinstance(content, dict):
            message = f"{self.describe(path)}: the reply is not a JSON object"
            raise SourceError(message, hint="Check the address of the source.")
        return content

    def _parse(self, response: "Response", path: str) -> object:
        if is_html(response.headers.get("content-type", ""), response.content):
            message = f"{self.describe(path)}: an HTML page came instead of JSON"
            if b"login" in response.content.lower() or b"password" in response.content.lower():
                raise SourceAuthenticationError(f"{message}, to sign in", hint="Check the credential of the source.")
            raise SourceError(message, hint="Check the address; Confluence on Cloud ends with /wiki.")
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError):
            pass
        message = f"{self.describe(path)}: the reply is not valid JSON"
        raise SourceError(message, hint="Check the address of the source.")

    def _find_message(self, response: "Response") -> str:
        """Return the message of an error reply; Jira sends lists and objects of messages, Confluence one message."""
        try:
            content = json.loads(response.content)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(content, dict):
            return ""
        errors = content.get("errors")
        messages = content.get("errorMessages")
        parts = [*(messages if isinstance(messages, list) else []), content.get("message")]
        parts += errors.values() if isinstance(errors, dict) else []
        return self._redact("; ".join(part for part in parts if isinstance(part, str) and part))

    def _redact(self, text: str) -> str:
        """Return a text of the server as one short line, without the credential."""
        secret = self._login.secret
        if len(secret) >= _MIN_SECRET_CHARS:
            text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
        line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
        return line if len(line) <= _MAX_DETAIL_CHARS else f"{line[:_MAX_DETAIL_CHARS]}…"

    def _connect(self) -> "AtlassianRestAPI":
        if self._api is None:
            from atlassian.rest_client import AtlassianRestAPI  # noqa: PLC0415  # 300 ms

            from coderag.sources.atlassian.bounded_session import BoundedSession  # noqa: PLC0415  # as above

            # Its debug log has the text of every page and ticket.
            logging.getLogger("atlassian").setLevel(logging.WARNING)
            session = BoundedSession(MAX_REPLY_BYTES, self._policy.deadline_s)
            session.trust_env = not is_this_machine(self.base_url)
            login = self._login
            self._api = AtlassianRestAPI(
                self.base_url,
                username=login.email or None,
                password=login.secret if login.email else None,
                token=None if login.email else login.secret,
                timeout=max(1, int(self._policy.timeout_s)),
                session=session,
                cloud=login.is_cloud,
                retry_with_header=False,  # it sleeps for up to half an hour, once
            )
        return self._api


def _check_login(login: AtlassianLogin, name: str) -> None:
    hint = "Give the API token of the account on Cloud, or a personal access token of Data Center."
    if not login.secret.strip():
        message = f"the credential of {name} at {urlsplit(login.address).netloc} is missing"
        raise SourceAuthenticationError(message, hint=hint)
    if login.is_cloud and not login.email:
        message = f"the e-mail address of the account of {name} at {urlsplit(login.address).netloc} is missing"
        raise SourceAuthenticationError(message, hint="Cloud takes an API token together with the account's address.")
    if not (login.secret.isascii() and login.secret.isprintable()):
        message = f"the credential of {name} has characters that a header may not have"
        raise SourceAuthenticationError(message, hint="Check it for line breaks and quotes.")


def _is_safe_address(url: str) -> bool:
    return urlsplit(url).scheme == "https" or (urlsplit(url).scheme == "http" and is_this_machine(url))


def _send_unchanged(request: Any) -> Any:  # noqa: ANN401  # requests' protocol of authentication
    """Keep `requests` from looking for a credential in ``.netrc``."""
    return request
