"""Translation of exceptions of model servers to CodeRAG errors, and the retry policy.

Ollama's client raises exceptions of httpx or wraps them. OpenAI's and Anthropic's clients do the same with httpx or, in
newer versions, with its fork httpx2. Voyage is called with httpx. All share the class names, so a fault is found by name in
the chain of causes, without imports. Google's client has its own exceptions for server replies.
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
# From the details of Google's errors. Source: https://cloud.google.com/apis/design/errors
_GOOGLE_WAIT = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
_GOOGLE_BAD_KEY = '"API_KEY_INVALID"'  # sent with status 400
_MAX_DETAIL_CHARS = 300  # of a server's message
# Wording of OpenAI, vLLM, llama.cpp, Ollama, TEI and Voyage: context length, maximum number of tokens or texts.
_TOO_LONG = re.compile(
    r"context (length|size|window)|too (long|large|many (tokens|inputs))|longer than|physical batch size"
    r"|(max|less than|exceed|limit)\w*\b.{0,60}\b(tokens|length|batch size)|tokens\b.{0,40}\b(max|exceed|limit)",
    re.IGNORECASE,
)


class CutReplyError(Exception):
    """A streamed reply stopped before its end; the message states the evidence."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A model on a server, as messages name it.

    Attributes:
        section: Section of the settings, ``embedding`` or ``llm``.
        secret: Its key; never part of a message.
    """

    provider: str
    model: str
    address: str
    section: str
    timeout_s: float
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class RequestFault:
    """Cause of a failed request.

    Attributes:
        kind: ``status``: the server replied with an error; ``dropped``: the connection broke; ``cut``: the reply ended
            before it was complete; ``reply``: the reply cannot be parsed.
        status: The HTTP status, or 0.
        detail: Message of the server or the system.
        retry_after_s: Wait that the server asks for, in seconds.
    """

    kind: FaultKind
    status: int = 0
    detail: str = ""
    retry_after_s: float | None = None

    @property
    def is_transient(self) -> bool:
        """Return whether the same request may succeed soon."""
        if self.is_too_long:
            return False
        return self.kind in {"timeout", "dropped", "cut"} or self.status in {408, 429} or self.status >= 500

    @property
    def is_busy(self) -> bool:
        """Return whether the server accepts no more requests for now."""
        return self.status == 429

    @property
    def is_too_long(self) -> bool:
        """Return whether the server rejects a text, or the texts of a request together, for their length."""
        return self.status == 413 or (self.status in {400, 422, 500} and bool(_TOO_LONG.search(self.detail)))

    @property
    def is_about_text(self) -> bool:
        """Return whether a text of the request may be the cause, so that another text may succeed."""
        return self.status in {400, 422, 500} or self.kind in {"reply", "dropped"}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Policy for repeated requests.

    Attributes:
        attempts: Total number of requests.
        busy_attempts: Total number of requests while the server is busy (status 429), if larger.
        first_wait_s: Seconds before the second request; doubled before each further one.
        max_wait_s: No retry if the server asks for a longer wait (``Retry-After``).
        retries_timeouts: Whether a request is repeated after a timeout.
    """

    attempts: int = 3
    busy_attempts: int = 0
    first_wait_s: float = 1.0
    max_wait_s: float = 30.0
    retries_timeouts: bool = True

    def call(self, request: Callable[[], T], sleep: Callable[[float], None]) -> T:
        """Call `request`, and repeat it after a transient fault.

        Raises:
            Exception: The exception of the last attempt, unchanged; see `translate_remote_errors`.
        """
        from tenacity import Retrying  # noqa: PLC0415  # 50 ms

        return Retrying(
            retry=self._is_retryable, stop=self._is_exhausted, wait=self._compute_wait_s, sleep=sleep, reraise=True
        )(request)

    async def acall(self, request: Callable[[], Awaitable[T]], sleep: Callable[[float], Awaitable[None]]) -> T:
        """Do as `call` does, awaiting `request` and `sleep`."""
        from tenacity import AsyncRetrying  # noqa: PLC0415  # as above

        async def attempt() -> T:  # tenacity would not await a lambda
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
    """Turn exceptions of a request to `remote` into a `ModelError`; unrelated exceptions pass."""
    try:
        yield
    except Exception as error:
        fault = find_fault(error)
        if fault is None:
            raise
        mapped = build_model_error(fault, remote)
        # A server's rejection may repeat the key, so it is not chained as the cause.
        raise mapped from (None if isinstance(mapped, ModelAuthenticationError) else error)


def find_fault(error: BaseException) -> RequestFault | None:
    """Find the fault of a failed request; return None if `error` is unrelated."""
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
    """Build the error with the cause and a hint."""
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
            hint = "Try again. If it happens often, see the server's log; the model may not fit into its memory."
        case RequestFault(kind="reply"):
            error = ModelError
            message = f"{server} sent an invalid reply for the model {remote.model}{suffix}"
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
            wait = f"; retry in {fault.retry_after_s:g} s" if fault.retry_after_s else ""
            message = f"{server} cannot serve the model {remote.model} now (status {fault.status}{wait}){suffix}"
            hint = "Try again later."
        case _:
            error = ModelError
            message = f"{server} refuses the request for the model {remote.model} (status {fault.status}){suffix}"
    return error(message, hint=hint)


def _build_length_hint(remote: Remote) -> tuple[str, str]:
    """Return the text that was too long, and the hint."""
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
"""Fault of each exception class of httpx and httpx2, the most specific first."""


def _find_non_http_fault(error: BaseException) -> RequestFault | None:
    """Find the fault when no HTTP exception is in the chain of causes."""
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


def _find_client_fault(error: Any) -> RequestFault | None:  # noqa: ANN401  # of a client library, duck-typed
    """Find the fault of a client's exception without HTTP cause; return None if it is unrelated.

    Google's exceptions have a ``code``, the others a ``status_code``. An exception without a code, or with one of success,
    was raised within a reply that had started well.
    """
    if _get_library(type(error)) == "google" and isinstance(getattr(error, "code", None), int):
        is_answer = hasattr(error.response, "text")  # otherwise it is from within a reply
        return (
            _build_status_fault(error)
            if is_answer
            else RequestFault("status", error.code, to_single_line(str(error.message or "")))
        )
    if type(error).__name__ not in {"ResponseError", "APIError"} and not hasattr(error, "status_code"):
        return None
    if getattr(error, "status_code", 0) >= 300:
        is_answer = hasattr(error, "response")  # Ollama's has only a message
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
    """Extract the message of an error body: ``error`` (Ollama), its ``message`` (OpenAI), ``detail`` (Voyage), or all."""
    try:
        content = json.loads(body)
    except ValueError:
        return to_single_line(body)
    if not isinstance(content, dict):
        return to_single_line(body)
    error = next((content[key] for key in ("error", "detail", "message") if key in content), body)
    return to_single_line(str(error.get("message", error) if isinstance(error, dict) else error))


def to_single_line(text: str) -> str:
    """Convert untrusted text to a single line for a message: short, without control characters."""
    line = "".join(letter for letter in " ".join(text[: 4 * _MAX_DETAIL_CHARS].split()) if letter.isprintable())
    return line if len(line) <= _MAX_DETAIL_CHARS else f"{line[:_MAX_DETAIL_CHARS]}…"


def _parse_retry_after(value: str) -> float | None:
    """Parse the seconds of a ``Retry-After`` header, given as a number or as a date.

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
