"""Requests to the running service, and its errors as the classes that they were. Imports nothing slow."""

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, fields
from typing import Any, Final

from coderag.errors import AmbiguousNameError, CodeRAGError, ServiceError, error_class
from coderag.service.http import Reply, request
from coderag.service.service_address import ServiceAddress

CHALLENGE_HEADER: Final = "x-coderag-challenge"
PROOF_HEADER: Final = "x-coderag-proof"
HEALTH_PATH: Final = "/health"
STOP_PATH: Final = "/service/stop"
STATUS_PATH: Final = "/service/status"
REPOSITORY_PATH: Final = "/service/repository"
API: Final = "/api/v1"

_HEALTH_S: Final = 2.0
"""Seconds in which a service must prove that it lives; one that is stopped takes connections, and never answers."""

_MORE_S: Final = 10.0
"""Seconds by which a client waits longer than the service lets a request take."""


def proof(token: str, challenge: str) -> str:
    """Return what only a service with the token can answer to a challenge."""
    return hmac.digest(token.encode(), challenge.encode(), hashlib.sha256).hex()


def proves_itself(address: ServiceAddress) -> bool:
    """Whether the service answers, and has the token: another program may have got its port. The token is not sent."""
    challenge = os.urandom(16).hex()
    try:
        reply = request(address.http, "GET", HEALTH_PATH, {CHALLENGE_HEADER: challenge}, timeout_s=_HEALTH_S)
    except ServiceError:
        return False
    reply.close()
    told = reply.headers.get(PROOF_HEADER, "").encode()  # texts are compared only if they are ASCII
    return hmac.compare_digest(told, proof(address.token, challenge).encode())


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """A server-sent event: its name, and its data as JSON has it."""

    name: str
    data: Any


class ServiceClient:
    """Asks the service.

    Args:
        address: Where it is.
    """

    def __init__(self, address: ServiceAddress) -> None:
        self.address = address

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401  # JSON
        """Return what the service replies, as JSON has it.

        Raises:
            ServiceError: It cannot be reached, broke off, or did not understand.
            CodeRAGError: What it says that went wrong.
        """
        with closing(self._send(method, path, body, {})) as reply:
            content = reply.content()
        try:
            return json.loads(content)
        except ValueError as error:
            raise ServiceError(f"the service sent no JSON: {error}") from error

    def events(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Iterator[ServerEvent]:
        """Yield what the service tells while it goes on. Raises as `call`; an event ``error`` is raised, too."""
        with closing(self._send(method, path, body, {"Accept": "text/event-stream"})) as reply:
            name, data = "", ""
            for line in reply.lines():
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:"):
                    data += line[5:].strip()
                elif not line and data:
                    yield _event(name, data)
                    name, data = "", ""

    def _send(self, method: str, path: str, body: Mapping[str, object] | None, headers: Mapping[str, str]) -> Reply:
        content = b"" if body is None else json.dumps(body).encode()
        told = {"Authorization": f"Bearer {self.address.token}", **headers}
        if body is not None:
            told["Content-Type"] = "application/json"
        reply = request(self.address.http, method, path, told, content, timeout_s=self.address.request_s + _MORE_S)
        if reply.status < 300:  # a success of HTTP
            return reply
        with closing(reply):
            raise _refusal(reply.status, reply.content())


def _event(name: str, data: str) -> ServerEvent:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise ServiceError(f"the service sent no JSON: {error}") from error
    if name == "error":
        raise error_of(value if isinstance(value, dict) else {})
    return ServerEvent(name, value)


def _refusal(status: int, content: bytes) -> CodeRAGError:
    try:
        problem = json.loads(content)
    except ValueError:
        problem = None
    if isinstance(problem, dict):
        return error_of(problem)
    return ServiceError(f"the service answered with status {status}")


def error_of(problem: Mapping[str, Any]) -> CodeRAGError:
    """Return the error that a reply tells of, as the class that it was; a `ServiceError` if it is none of ours."""
    kind = error_class(str(problem.get("type", "")))
    message, hint = str(problem.get("detail") or "the service failed"), str(problem.get("hint") or "")
    if kind is AmbiguousNameError:
        return AmbiguousNameError(message, hint=hint, candidates=_candidates(problem))
    return (kind or ServiceError)(message, hint=hint)


def _candidates(problem: Mapping[str, Any]) -> list[Any]:
    from coderag.schema.graph import GraphDeclaration  # noqa: PLC0415  # rarely needed

    names = [field.name for field in fields(GraphDeclaration)]
    return [GraphDeclaration(**{name: one[name] for name in names}) for one in problem.get("candidates") or ()]
