"""Errors as problem details of RFC 9457 with additional fields."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from coderag.errors import (
    AmbiguousNameError,
    CodeRAGError,
    DatabaseUnavailableError,
    IndexNotFoundError,
    QuotaExceededError,
)
from coderag.interfaces.error_table import find_error_row
from coderag.interfaces.json_values import encode_json
from coderag.schema.graph import GraphDeclaration

PROBLEM_TYPE: Final = "application/problem+json"

INVALID_REQUEST: Final = "InvalidRequestError"
"""Type of a request that violates the description; not a class of `coderag.errors`."""

_INTERNAL_ERROR: Final = "InternalError"
_MAX_ERROR_DETAILS = 5
_DEFAULT_WAIT_S: Final = 1
_DATABASE_WAIT_S: Final = 5
_START_INDEXING = 'POST /api/v1/index with {"root": "..."} starts indexing; GET /api/v1/jobs/{id} tells how far it is.'

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem detail of RFC 9457.

    Attributes:
        type: Its class: one of `coderag.errors`, ``InvalidRequestError`` for a request that violates this description,
            or ``InternalError``.
        title: Phrase of the status.
        status: HTTP status of the reply.
        detail: Description of the failure.
        hint: Advice; empty if there is none.
        next: The request to send next; empty if none helps.
        retryable: Whether the same request may succeed later.
        candidates: Declarations that an ambiguous name may refer to.
    """

    type: str
    title: str
    status: int
    detail: str
    hint: str = ""
    next: str = ""
    retryable: bool = False
    candidates: Sequence[GraphDeclaration] = ()


def to_problem(error: CodeRAGError) -> Problem:
    """Convert an error to a problem."""
    row = find_error_row(error)
    return Problem(
        type=type(error).__name__,
        title=HTTPStatus(row.status).phrase,
        status=row.status,
        detail=str(error),
        hint=error.hint,
        next=_START_INDEXING if isinstance(error, IndexNotFoundError) else "",
        retryable=error.retryable,
        candidates=error.candidates if isinstance(error, AmbiguousNameError) else (),
    )


def build_internal_problem(error: Exception) -> Problem:
    """Build the problem of an internal error and log its traceback."""
    _log.error("internal error while handling a request", exc_info=error)
    detail = f"internal error: {type(error).__name__}"
    return Problem(_INTERNAL_ERROR, HTTPStatus(500).phrase, 500, detail, "See the traceback in the server's log.")


def to_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Convert a problem to a response."""
    extra_headers = {"retry-after": str(_DEFAULT_WAIT_S)} if problem.retryable else {}
    return Response(encode_json(problem), problem.status, {**extra_headers, **(headers or {})}, PROBLEM_TYPE)


def respond(error: CodeRAGError) -> Response:
    """Convert an error to a response, with the time to wait if the same request may succeed later."""
    headers = {"retry-after": str(get_wait_s(error))} if error.retryable else {}
    return to_response(to_problem(error), headers)


def get_wait_s(error: CodeRAGError) -> int:
    """Return the seconds to wait before the same request may succeed."""
    if isinstance(error, QuotaExceededError):
        return max(_DEFAULT_WAIT_S, math.ceil(error.wait_s))
    return _DATABASE_WAIT_S if isinstance(error, DatabaseUnavailableError) else _DEFAULT_WAIT_S


def install_handlers(app: FastAPI) -> None:
    """Install the handlers that report every error of an app as a problem."""
    app.add_exception_handler(CodeRAGError, _handle_expected)
    app.add_exception_handler(RequestValidationError, _handle_invalid)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, _handle_internal)


async def _handle_expected(_: Request, error: Exception) -> Response:
    assert isinstance(error, CodeRAGError)
    return respond(error)


async def _handle_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    details = error.errors()
    is_unknown = any(detail["type"] in ("extra_forbidden", "missing") for detail in details)
    known_fields = _list_body_fields(request) if is_unknown else []
    text = "; ".join(map(_format_detail, details[:_MAX_ERROR_DETAILS]))
    if len(details) > _MAX_ERROR_DETAILS:
        text += f"; and {len(details) - _MAX_ERROR_DETAILS} more"
    return to_response(
        _build_request_problem(422, text, f"Known fields: {', '.join(known_fields)}." if known_fields else "")
    )


def _list_body_fields(request: Request) -> list[str]:
    """List the known fields of a request's body."""
    route = request.scope.get("route")
    bodies = route.dependant.body_params if isinstance(route, APIRoute) else []
    return [name for body in bodies for name in getattr(body.field_info.annotation, "model_fields", {})]


async def _handle_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return to_response(_build_request_problem(error.status_code, str(error.detail)), error.headers)


async def _handle_internal(_: Request, error: Exception) -> Response:
    return to_response(build_internal_problem(error))


def _build_request_problem(status: int, detail: str, advice: str = "") -> Problem:
    hint = f"{advice} GET /openapi.json describes every request.".lstrip()
    return Problem(INVALID_REQUEST, HTTPStatus(status).phrase, status, detail, hint)


def _format_detail(detail: Mapping[str, Any]) -> str:
    """Format one validation error, such as ``body.top_k: Input should be ...``."""
    location = ".".join(str(part)[:80] for part in detail["loc"])
    return f"{location}: {detail['msg']}"
