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
_MAX_DETAIL = 300  # characters of what a server says
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
class Fault:
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
    def passing(self) -> bool:
        """Whether the same request may succeed in a moment."""
        if self.too_long:
            return False
        return self.kind in {"timeout", "dropped", "cut"} or self.status in {408, 429} or self.status >= 500

    @property
    def busy(self) -> bool:
        """Whether the server takes no more requests for now."""
        return self.status == 429

    @property
    def too_long(self) -> bool:
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
    longest_wait_s: float = 30.0
    after_timeout: bool = True

    def call(self, request: Callable[[], T], sleep: Callable[[float], None]) -> T:
        """Return what `request` returns, repeating it after a passing fault.

        Raises:
            Exception: That of the last attempt, as it is; see `remote_errors`.
        """
        from tenacity import Retrying  # noqa: PLC0415  # 50 ms that the embedded model needs not

        return Retrying(retry=self._again, stop=self._enough, wait=self._wait, sleep=sleep, reraise=True)(request)

    async def acall(self, request: Callable[[], Awaitable[T]], sleep: Callable[[float], Awaitable[None]]) -> T:
        """Do as `call` does, awaiting `request` and `sleep`."""
        from tenacity import AsyncRetrying  # noqa: PLC0415  # as above

        async def attempt() -> T:  # tenacity would not see that a lambda is to be awaited
            return await request()

        again = AsyncRetrying(retry=self._again, stop=self._enough, wait=self._wait, sleep=sleep, reraise=True)
        return await again(attempt)

    def _again(self, state: "RetryCallState") -> bool:
        fault = _fault_of(state)
        if fault is None or not fault.passing or (fault.kind == "timeout" and not self.after_timeout):
            return False
        return (fault.retry_after_s or 0) <= self.longest_wait_s

    def _enough(self, state: "RetryCallState") -> bool:
        fault = _fault_of(state)
        most = max(self.attempts, self.busy_attempts) if fault and fault.busy else self.attempts
        return state.attempt_number >= most

    def _wait(self, state: "RetryCallState") -> float:
        fault = _fault_of(state)
        own = min(self.first_wait_s * 2.0 ** (state.attempt_number - 1), self.longest_wait_s)
        return max(own, fault.retry_after_s or 0) if fault else own


@contextmanager
def remote_errors(remote: Remote) -> Iterator[None]:
    """Turn every exception of a request to `remote` into a `ModelError`; other exceptions pass."""
    try:
        yield
    except Exception as error:
        fault = find_fault(error)
        if fault is None:
            raise
        mapped = model_error(fault, remote)
        # What refused a key may repeat it, so that one is not shown as the cause.
        raise mapped from (None if isinstance(mapped, ModelAuthenticationError) else error)


def find_fault(error: BaseException) -> Fault | None:
    """Say what went wrong with a request; None if `error` is not about one."""
    if isinstance(error, CodeRAGError):
        return None
    link: BaseException | None = error
    while link is not None:
        for name, make in _FAULTS.items():
            if _is_from_http(link, name):
                return make(link)
        link = link.__cause__ or link.__context__
    return _fault_without_http(error)


def model_error(fault: Fault, remote: Remote) -> ModelError:
    """Return the error that tells a reader what happened and what to do."""
    server = f"{remote.provider} at {remote.address}"
    detail = fault.detail.replace(remote.secret, "***") if remote.secret else fault.detail
    said = f": {detail}" if detail else ""
    hint = ""
    error: type[ModelError] = ModelUnavailableError
    match fault:
        case Fault(kind="unreachable"):
            message = f"{server} cannot be reached for the model {remote.model}{said}"
            hint = _start_hint(remote)
        case Fault(kind="timeout"):
            message = f"{server} did not answer for the model {remote.model} within {remote.timeout_s:g} s"
            hint = f"Raise {remote.section}.timeout_s if the model is slow on that machine."
        case Fault(kind="dropped"):
            message = f"{server} broke the connection for the model {remote.model}{said}"
            hint = "See the server's log; the model may not fit into its memory."
        case Fault(kind="cut"):
            message = f"{server} broke off its reply of the model {remote.model}{said}"
            hint = "Ask again. If it happens often, see the server's log; the model may not fit into its memory."
        case Fault(kind="reply"):
            error = ModelError
            message = f"{server} sent a reply for the model {remote.model} that cannot be understood{said}"
            hint = f"Check that {remote.section}.base_url is the address of such a server and its version is recent."
        case Fault(status=401 | 403):
            error = ModelAuthenticationError
            message = f"{server} refuses the key for the model {remote.model} (status {fault.status})"
            hint = f"Check {remote.section}.api_key and what the key may do." if remote.secret else _key_hint(remote)
        case _ if fault.too_long:
            error = ModelError
            text, hint = _length_hint(remote)
            message = f"{server} finds {text} too long for the model {remote.model}{said}"
        case Fault(status=404):
            message = f"{server} has no model {remote.model} (status 404){said}"
            hint = _missing_hint(remote, detail)
        case _ if fault.passing:
            wait = f", to be asked again in {fault.retry_after_s:g} s" if fault.retry_after_s else ""
            message = f"{server} cannot serve the model {remote.model} now (status {fault.status}{wait}){said}"
            hint = "Try again later."
        case _:
            error = ModelError
            message = f"{server} refuses the request for the model {remote.model} (status {fault.status}){said}"
    return error(message, hint=hint)


def _length_hint(remote: Remote) -> tuple[str, str]:
    """Return what was too long, and what to do."""
    if remote.section == "embedding":
        hint = "Check that the model is one for embeddings; embedding.max_tokens cuts texts to what it reads."
        return "even a short text", hint
    return "the prompt", f"Set {remote.section}.context_window to what the model reads, or lower search.token_budget."


def _start_hint(remote: Remote) -> str:
    if remote.provider == "ollama":
        return f"Start it with `ollama serve`, or correct {remote.section}.base_url."
    return f"Start the server, or correct {remote.section}.base_url."


def _missing_hint(remote: Remote, detail: str) -> str:
    if remote.provider == "ollama" and "model" in detail.lower():
        return f"Fetch it with `ollama pull {remote.model}`."
    return f"Check {remote.section}.model and {remote.section}.base_url."


def _key_hint(remote: Remote) -> str:
    if remote.section != "reranker":
        return f"Set {remote.section}.api_key; `${{NAME}}` takes it from the environment."
    return f"A key cannot be set in {remote.section}; use a server that needs none."


def _fault_of(state: "RetryCallState") -> Fault | None:
    error = state.outcome.exception() if state.outcome else None
    return find_fault(error) if error else None


def _library(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _is_from_http(error: BaseException, name: str) -> bool:
    return any(cls.__name__ == name and _library(cls) in _HTTP_LIBRARIES for cls in type(error).__mro__)


def _status_fault(error: BaseException) -> Fault:
    response: Any = error.response  # type: ignore[attr-defined]  # httpx.HTTPStatusError, by name
    body = response.text
    told = _GOOGLE_WAIT.search(body)
    wait = float(told[1]) if told else _retry_after(response.headers.get("retry-after", ""))
    return Fault("status", 401 if _GOOGLE_BAD_KEY in body else response.status_code, _said_by(body), wait)


def _broken_fault(error: BaseException) -> Fault:
    return Fault("dropped", detail=one_line(str(error)) or type(error).__name__)


_FAULTS: dict[str, Callable[[BaseException], Fault]] = {
    "TimeoutException": lambda _: Fault("timeout"),
    "ConnectError": lambda error: Fault("unreachable", detail=one_line(str(error))),
    "HTTPStatusError": _status_fault,
    "TransportError": _broken_fault,
}
"""Classes that httpx and httpx2 share, most special first, and the fault that each means."""


def _fault_without_http(error: BaseException) -> Fault | None:
    """Say what is wrong where no exception of HTTP is in the chain of causes."""
    if isinstance(error, TimeoutError):
        return Fault("timeout")
    if isinstance(error, ConnectionError):
        return Fault("dropped", detail=one_line(str(error)))
    if isinstance(error, CutReplyError):
        return Fault("cut", detail=one_line(str(error)))
    by_client = _library(type(error)) in _CLIENT_LIBRARIES
    if by_client and (fault := _fault_told_by_client(error)):
        return fault
    if by_client or isinstance(error, _MALFORMED_REPLY):
        return Fault("reply", detail=one_line(f"{type(error).__name__}: {error}"))
    return None


def _fault_told_by_client(error: Any) -> Fault | None:  # noqa: ANN401  # of a client's library, known by what it has
    """Return what an exception says that has no exception of HTTP behind it; None if it is about something else.

    Google's has a ``code``, the others a ``status_code``. One without, or with that of success, comes from within a reply
    that had begun well.
    """
    if _library(type(error)) == "google" and isinstance(getattr(error, "code", None), int):
        is_answer = hasattr(error.response, "text")  # else it comes from within a reply
        return _status_fault(error) if is_answer else Fault("status", error.code, one_line(str(error.message or "")))
    if type(error).__name__ not in {"ResponseError", "APIError"} and not hasattr(error, "status_code"):
        return None
    if getattr(error, "status_code", 0) >= 300:
        is_answer = hasattr(error, "response")  # Ollama's has the words alone
        return _status_fault(error) if is_answer else Fault("status", error.status_code, one_line(str(error)))
    body = getattr(error, "body", None)
    return Fault("cut", detail=_said_by(json.dumps(body)) if isinstance(body, dict) else one_line(str(error)))


def _said_by(body: str) -> str:
    """Return the message in an error's body: ``error`` (Ollama), its ``message`` (OpenAI), ``detail`` (Voyage), or all."""
    try:
        content = json.loads(body)
    except ValueError:
        return one_line(body)
    if not isinstance(content, dict):
        return one_line(body)
    error = next((content[key] for key in ("error", "detail", "message") if key in content), body)
    return one_line(str(error.get("message", error) if isinstance(error, dict) else error))


def one_line(text: str) -> str:
    """Return text of a stranger so that it can stand in a message: one line, without control characters, not long."""
    line = "".join(letter for letter in " ".join(text[: 4 * _MAX_DETAIL].split()) if letter.isprintable())
    return line if len(line) <= _MAX_DETAIL else f"{line[:_MAX_DETAIL]}…"


def _retry_after(value: str) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, given as a number or as a date.

    Source: RFC 9110, section 10.2.3.
    """
    try:
        seconds = float(value) if value.strip().isdigit() else _seconds_until(parsedate_to_datetime(value))
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)


def _seconds_until(moment: datetime) -> float:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime.now(UTC)).total_seconds()
