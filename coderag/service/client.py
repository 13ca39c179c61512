"""Client of the running service, which restores error classes. Imports nothing slow."""

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, fields
from typing import Any, Final

from coderag.errors import AmbiguousNameError, CodeRAGError, ServiceError, find_error_class
from coderag.service.http import HttpReply, send_request
from coderag.service.service_address import ServiceAddress

CHALLENGE_HEADER: Final = "x-coderag-challenge"
PROOF_HEADER: Final = "x-coderag-proof"
HEALTH_PATH: Final = "/health"
STOP_PATH: Final = "/service/stop"
STATUS_PATH: Final = "/service/status"
REPOSITORY_PATH: Final = "/service/repository"
WEB_PATH: Final = "/service/web"
API_PREFIX: Final = "/api/v1"

_HEALTH_TIMEOUT_S: Final = 2.0
"""Timeout of the health check: a stopped process accepts connections and never replies."""

_EXTRA_TIMEOUT_S: Final = 10.0
"""Seconds that a client waits beyond the service's own timeout."""


def compute_proof(token: str, challenge: str) -> str:
    """Compute the HMAC of a challenge, which only a service with the token can know."""
    return hmac.digest(token.encode(), challenge.encode(), hashlib.sha256).hex()


def is_authentic(address: ServiceAddress) -> bool:
    """Return whether the service replies and has the token, which is not sent.

    Another program may have its port.
    """
    challenge = os.urandom(16).hex()
    try:
        reply = send_request(
            address.http, "GET", HEALTH_PATH, {CHALLENGE_HEADER: challenge}, timeout_s=_HEALTH_TIMEOUT_S
        )
    except ServiceError:
        return False
    reply.close()
    given_proof = reply.headers.get(PROOF_HEADER, "").encode()  # compare_digest accepts only ASCII strings
    return hmac.compare_digest(given_proof, compute_proof(address.token, challenge).encode())


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """A server-sent event: its name and its decoded data."""

    name: str
    data: Any


class ServiceClient:
    """Client of the service.

    Args:
        address: Address of the service.
    """

    def __init__(self, address: ServiceAddress) -> None:
        self.address = address

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401  # JSON
        """Send a request and return the decoded JSON reply.

        Raises:
            ServiceError: The service is unreachable, broke off, or rejected the request.
            CodeRAGError: The error that the service reports.
        """
        with closing(self._send(method, path, body, {})) as reply:
            content = reply.read_content()
        try:
            return json.loads(content)
        except ValueError as error:
            raise ServiceError(f"the service sent invalid JSON: {error}") from error

    def stream_events(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Iterator[ServerEvent]:
        """Yield the server-sent events of a request. Raises as `call`; an ``error`` event is raised, too."""
        with closing(self._send(method, path, body, {"Accept": "text/event-stream"})) as reply:
            name, data = "", ""
            for line in reply.stream_lines():
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:"):
                    data += line[5:].strip()
                elif not line and data:
                    yield _parse_event(name, data)
                    name, data = "", ""

    def _send(self, method: str, path: str, body: Mapping[str, object] | None, headers: Mapping[str, str]) -> HttpReply:
        content = b"" if body is None else json.dumps(body).encode()
        sent_headers = {"Authorization": f"Bearer {self.address.token}", **headers}
        if body is not None:
            sent_headers["Content-Type"] = "application/json"
        reply = send_request(
            self.address.http, method, path, sent_headers, content, timeout_s=self.address.request_s + _EXTRA_TIMEOUT_S
        )
        if reply.status < 300:  # HTTP success
            return reply
        with closing(reply):
            raise _parse_refusal(reply.status, reply.read_content())


def _parse_event(name: str, data: str) -> ServerEvent:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise ServiceError(f"the service sent invalid JSON: {error}") from error
    if name == "error":
        raise to_error(value if isinstance(value, dict) else {})
    return ServerEvent(name, value)


def _parse_refusal(status: int, content: bytes) -> CodeRAGError:
    try:
        problem = json.loads(content)
    except ValueError:
        problem = None
    if isinstance(problem, dict):
        return to_error(problem)
    return ServiceError(f"the service replied with status {status}")


def to_error(problem: Mapping[str, Any]) -> CodeRAGError:
    """Convert a problem to an error of its class; a `ServiceError` if the class is unknown."""
    error_type = find_error_class(str(problem.get("type", "")))
    message, hint = str(problem.get("detail") or "the service failed"), str(problem.get("hint") or "")
    if error_type is AmbiguousNameError:
        return AmbiguousNameError(message, hint=hint, candidates=_parse_candidates(problem))
    return (error_type or ServiceError)(message, hint=hint)


def _parse_candidates(problem: Mapping[str, Any]) -> list[Any]:
    from coderag.schema.graph import GraphDeclaration  # noqa: PLC0415  # rarely needed

    names = [field.name for field in fields(GraphDeclaration)]
    return [
        GraphDeclaration(**{name: candidate[name] for name in names}) for candidate in problem.get("candidates") or ()
    ]
