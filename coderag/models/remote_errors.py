"""The one place where exceptions of a model's server become errors of CodeRAG, and where it is decided what is retried.

Ollama's client raises httpx's exceptions or hides them behind its own; OpenAI's and Anthropic's do the same with httpx or, in
newer versions, with its fork httpx2; with Voyage httpx itself speaks. All keep the names of the classes, so a fault is found by
them along the chain of causes, without importing any. Google's client has exceptions of its own for what a server answers.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from coderag.errors import CodeRAGError, ModelAuthenticationError, ModelError, ModelUnavailableError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")
FaultKind = Literal["timeout", "unreachable", "status", "dropped", "cut", "reply"]

_HTTP_LIBRARIES = ("httpx", "httpx2")
_CLIENT_LIBRARIES = (*_HTTP_LIBRARIES, "ollama", "openai", "anthropic", "google")
_MALFORMED_REPLY = (ValueError, TypeError, LookupError, AttributeError)
# In the details of Google's errors. Source: https://cloud.google.com/apis/design/errors
_GOOGLE_WAIT = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
_GOOGLE_BAD_KEY = '"API_KEY_INVALID"'  # told with status 400
_MAX_DETAIL_CHARS = 300  # characters of what a server says
# What OpenAI, vLLM, llama.cpp, Ollama, TEI and Voyage say: a context length, a maximum number of tokens or texts.
_TOO_LONG = re.compile(
    r"context (length|size|window)|too (long|large|many (tokens|inputs))|longer than|physical batch size"
    r"|(max|less than|exceed|limit)\w*\b.{0,60}\b(tokens|length|batch size)|tokens\b.{0,40}\b(max|exceed|limit)",
    re.IGNORECASE,
)


class CutReplyError(Exception):
    """A reply that came in pieces stopped before its end; the message says how that is known."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A model on a server: what messages name.

    Attributes:
        section: The settings it comes from, ``embedding`` or ``llm``.
        secret: Its key, which no message may show.
    """

    provider: str
    model: str
    address: str
    section: str
    timeout_s: float
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class RequestFault:
    """What went wrong with one request.

    Attributes:
        kind: ``status``: the server answered with an error; ``dropped``: the connection broke; ``cut``: the server ended
            its reply before it was complete; ``reply``: the answer cannot be understood.
        status: The HTTP status, or 0.
        detail: What the server or the system says about it.
        retry_after_s: How long the server asks to wait, in seconds.
    """

    kind: FaultKind
    status: int = 0
    detail: str = ""
    retry_after_s: float | None = None

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed in a moment."""
        if self.is_too_long:
            return False
        return self.kind in {"timeout", "dropped", "cut"} or self.status in {408, 429} or self.status >= 500

    @property
    def is_busy(self) -> bool:
        """Whether the server takes no more requests for now."""
        return self.status == 429

    @property
    def is_too_long(self) -> bool:
        """Whether the server refuses a text, or the texts of a request together, for their length."""
        return self.status == 413 or (self.status in {400, 422, 500} and bool(_TOO_LONG.search(self.detail)))


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is repeated.

    Attributes:
        attempts: Requests in all.
        busy_attempts: Requests in all while the server says that there are too many (status 429), if more.
        first_wait_s: Seconds before the second; doubled before each further one.
        longest_wait_s: A server that asks for more (``Retry-After``) is not waited for.
        after_timeout: Whether a request that took too long is repeated.
    """

    attempts: int = 3
    busy_attempts: int = 0
    first_wait_s: float = 1.0
    max_wait_s: float = 30.0
    retries_timeouts: bool = True

    def call(self, request: Callable[[], T], sleep: Callable[[float], None]) -> T:
        """Return what `request` returns, repeating it after a passing fault.

        Raises:
            Exception: That of the last attempt, as it is; see `remote_errors`.
        """
        from tenacity import Retrying  # noqa: PLC0415  # 50 ms that the embedded model needs not

        return Retrying(
            retry=self._is_retryable, stop=self._is_exhausted, wait=self._compute_wait_s, sleep=sleep, reraise=True
        )(request)

    async def acall(self, request: Callable[[], Awaitable[T]], sleep: Callable[[float], Awaitable[None]]) -> T:
        """Do as `call` does, awaiting `request` and `sleep`."""
        from tenacity import AsyncRetrying  # noqa: PLC0415  # as above

        async def attempt() -> T:  # tenacity would not see that a lambda is to be awaited
            return await request()

        retrying = AsyncRetrying(
            retry=self._is_retryable, stop=self._is_exhausted, wait=self._compute_wait_s, sleep=sleep, reraise=True
        )
        return await retrying(attempt)

    def _is_retryable(self, state: "RetryCallState") -> bool:
        fault = _get_fault(state)
        if fault is None or not fault.is_transient or (fault.kind == "timeout" and not self.retries_timeouts):
            return False
        return (fault.retry_after_s or 0) <= self.max_wait_s

    def _is_exhausted(self, state: "RetryCallState") -> bool:
        fault = _get_fault(state)
        max_attempts = max(self.attempts, self.busy_attempts) if fault and fault.is_busy else self.attempts
        return state.attempt_number >= max_attempts

    def _compute_wait_s(self, state: "RetryCallState") -> float:
        fault = _get_fault(state)
        backoff_s = min(self.first_wait_s * 2.0 ** (state.attempt_number - 1), self.max_wait_s)
        return max(backoff_s, fault.retry_after_s or 0) if fault else backoff_s


@contextmanager
def translate_remote_errors(remote: Remote) -> Iterator[None]:
    """Turn every exception of a request to `remote` into a `ModelError`; other exceptions pass."""
    try:
        yield
    except Exception as error:
        fault = find_fault(error)
        if fault is None:
            raise
        mapped = build_model_error(fault, remote)
        # What refused a key may repeat it, so that one is not shown as the cause.
        raise mapped from (None if isinstance(mapped, ModelAuthenticationError) else error)


def find_fault(error: BaseException) -> RequestFault | None:
    """Say what went wrong with a request; None if `error` is not about one."""
    if isinstance(error, CodeRAGError):
        return None
    cause: BaseException | None = error
    while cause is not None:
        for name, build_fault in _FAULT_BUILDERS.items():
            if _is_from_http(cause, name):
                return build_fault(cause)
        cause = cause.__cause__ or cause.__context__
    return _find_non_http_fault(error)


def build_model_error(fault: RequestFault, remote: Remote) -> ModelError:
    """Return the error that tells a reader what happened and what to do."""
    server = f"{remote.provider} at {remote.address}"
    detail = fault.detail.replace(remote.secret, "***") if remote.secret else fault.detail
    suffix = f": {detail}" if detail else ""
    hint = ""
    error: type[ModelError] = ModelUnavailableError
    match fault:
        case RequestFault(kind="unreachable"):
            message = f"{server} cannot be reached for the model {remote.model}{suffix}"
            hint = _build_start_hint(remote)
        case RequestFault(kind="timeout"):
            message = f"{server} did not answer for the model {remote.model} within {remote.timeout_s:g} s"
            hint = f"Raise {remote.section}.timeout_s if the model is slow on that machine."
        case RequestFault(kind="dropped"):
            message = f"{server} broke the connection for the model {remote.model}{suffix}"
            hint = "See the server's log; the model may not fit into its memory."
        case RequestFault(kind="cut"):
            message = f"{server} broke off its reply of the model {remote.model}{suffix}"
            hint = "Ask again. If it happens often, see the server's log; the model may not fit into its memory."
        case RequestFault(kind="reply"):
            error = ModelError
            message = f"{server} sent a reply for the model {remote.model} that cannot be understood{suffix}"
            hint = f"Check that {remote.section}.base_url is the address of such a server and its version is recent."
        case RequestFault(status=401 | 403):
            error = ModelAuthenticationError
            message = f"{server} refuses the key for the model {remote.model} (status {fault.status})"
            hint = (
                f"Check {remote.section}.api_key and what the key may do." if remote.secret else _build_key_hint(remote)
            )
        case _ if fault.is_too_long:
            error = ModelError
            text, hint = _build_length_hint(remote)
            message = f"{server} finds {text} too long for the model {remote.model}{suffix}"
        case RequestFault(status=404):
            message = f"{server} has no model {remote.model} (status 404){suffix}"
            hint = _build_missing_hint(remote, detail)
        case _ if fault.is_transient:
            wait = f", to be asked again in {fault.retry_after_s:g} s" if fault.retry_after_s else ""
            message = f"{server} cannot serve the model {remote.model} now (status {fault.status}{wait}){suffix}"
            hint = "Try again later."
        case _:
            error = ModelError
            message = f"{server} refuses the request for the model {remote.model} (status {fault.status}){suffix}"
    return error(message, hint=hint)


def _build_length_hint(remote: Remote) -> tuple[str, str]:
    """Return what was too long, and what to do."""
    if remote.section == "embedding":
        hint = "Check that the model is one for embeddings; embedding.max_tokens cuts texts to what it reads."
        return "even a short text", hint
    return "the prompt", f"Set {remote.section}.context_window to what the model reads, or lower search.token_budget."


def _build_start_hint(remote: Remote) -> str:
    if remote.provider == "ollama":
        return f"Start it with `ollama serve`, or correct {remote.section}.base_url."
    return f"Start the server, or correct {remote.section}.base_url."


def _build_missing_hint(remote: Remote, detail: str) -> str:
    if remote.provider == "ollama" and "model" in detail.lower():
        return f"Fetch it with `ollama pull {remote.model}`."
    return f"Check {remote.section}.model and {remote.section}.base_url."


def _build_key_hint(remote: Remote) -> str:
    if remote.section != "reranker":
        return f"Set {remote.section}.api_key; `${{NAME}}` takes it from the environment."
    return f"A key cannot be set in {remote.section}; use a server that needs none."


def _get_fault(state: "RetryCallState") -> RequestFault | None:
    error = state.outcome.exception() if state.outcome else None
    return find_fault(error) if error else None


def _get_library(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _is_from_http(error: BaseException, name: str) -> bool:
    return any(cls.__name__ == name and _get_library(cls) in _HTTP_LIBRARIES for cls in type(error).__mro__)


def _build_status_fault(error: BaseException) -> RequestFault:
    response: Any = error.response  # type: ignore[attr-defined]  # httpx.HTTPStatusError, by name
    body = response.text
    google_wait = _GOOGLE_WAIT.search(body)
    wait = float(google_wait[1]) if google_wait else _parse_retry_after(response.headers.get("retry-after", ""))
    return RequestFault(
        "status", 401 if _GOOGLE_BAD_KEY in body else response.status_code, _parse_error_body(body), wait
    )


def _build_dropped_fault(error: BaseException) -> RequestFault:
    return RequestFault("dropped", detail=to_single_line(str(error)) or type(error).__name__)


_FAULT_BUILDERS: dict[str, Callable[[BaseException], RequestFault]] = {
    "TimeoutException": lambda _: RequestFault("timeout"),
    "ConnectError": lambda error: RequestFault("unreachable", detail=to_single_line(str(error))),
    "HTTPStatusError": _build_status_fault,
    "TransportError": _build_dropped_fault,
}
"""Classes that httpx and httpx2 share, most special first, and the fault that each means."""


def _find_non_http_fault(error: BaseException) -> RequestFault | None:
    """Say what is wrong where no exception of HTTP is in the chain of causes."""
    if isinstance(error, TimeoutError):
        return RequestFault("timeout")
    if isinstance(error, ConnectionError):
        return RequestFault("dropped", detail=to_single_line(str(error)))
    if isinstance(error, CutReplyError):
        return RequestFault("cut", detail=to_single_line(str(error)))
    by_client = _get_library(type(error)) in _CLIENT_LIBRARIES
    if by_client and (fault := _find_client_fault(error)):
        return fault
    if by_client or isinstance(error, _MALFORMED_REPLY):
        return RequestFault("reply", detail=to_single_line(f"{type(error).__name__}: {error}"))
    return None


def _find_client_fault(error: Any) -> RequestFault | None:  # noqa: ANN401  # of a client's library, known by what it has
    """Return what an exception says that has no exception of HTTP behind it; None if it is about something else.

    Google's has a ``code``, the others a ``status_code``. One without, or with that of success, comes from within a reply
    that had begun well.
    """
    if _get_library(type(error)) == "google" and isinstance(getattr(error, "code", None), int):
        is_answer = hasattr(error.response, "text")  # else it comes from within a reply
        return (
            _build_status_fault(error)
            if is_answer
            else RequestFault("status", error.code, to_single_line(str(error.message or "")))
        )
    if type(error).__name__ not in {"ResponseError", "APIError"} and not hasattr(error, "status_code"):
        return None
    if getattr(error, "status_code", 0) >= 300:
        is_answer = hasattr(error, "response")  # Ollama's has the words alone
        return (
            _build_status_fault(error)
            if is_answer
            else RequestFault("status", error.status_code, to_single_line(str(error)))
        )
    body = getattr(error, "body", None)
    return RequestFault(
        "cut", detail=_parse_error_body(json.dumps(body)) if isinstance(body, dict) else to_single_line(str(error))
    )


def _parse_error_body(body: str) -> str:
    """Return the message in an error's body: ``error`` (Ollama), its ``message`` (OpenAI), ``detail`` (Voyage), or all."""
    try:
        content = json.loads(body)
    except ValueError:
        return to_single_line(body)
    if not isinstance(content, dict):
        return to_single_line(body)
    error = next((content[key] for key in ("error", "detail", "message") if key in content), body)
    return to_single_line(str(error.get("message", error) if isinstance(error, dict) else error))


def to_single_line(text: str) -> str:
    """Return text of a stranger so that it can stand in a message: one line, without control characters, not long."""
    line = "".join(letter for letter in " ".join(text[: 4 * _MAX_DETAIL_CHARS].split()) if letter.isprintable())
    return line if len(line) <= _MAX_DETAIL_CHARS else f"{line[:_MAX_DETAIL_CHARS]}…"


def _parse_retry_after(value: str) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, given as a number or as a date.

    Source: RFC 9110, section 10.2.3.
    """
    try:
        seconds = float(value) if value.strip().isdigit() else _compute_seconds_until(parsedate_to_datetime(value))
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)


def _compute_seconds_until(moment: datetime) -> float:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime.now(UTC)).total_seconds()
