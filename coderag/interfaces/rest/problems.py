"""What a caller is told of an error: one form for all of them, that of RFC 9457 with fields of our own."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from coderag.errors import AmbiguousNameError, CodeRAGError, IndexNotFoundError
from coderag.interfaces._errors import row_for
from coderag.interfaces._plain import json_bytes
from coderag.schema.graph import GraphDeclaration

PROBLEM_TYPE: Final = "application/problem+json"

INVALID_REQUEST: Final = "InvalidRequestError"
"""Type of a request that is not as described; no class of `coderag.errors`."""

_INTERNAL: Final = "InternalError"
_MOST_FAULTS = 5
_START_INDEXING = 'POST /api/v1/index with {"root": "..."} starts indexing; GET /api/v1/jobs/{id} tells how far it is.'

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """An error, in the form of RFC 9457.

    Attributes:
        type: Its class: one of `coderag.errors`, ``InvalidRequestError`` for a request that is not as described here, or
            ``InternalError`` for a fault of the server.
        title: The meaning of the status.
        status: The status of the reply.
        detail: What failed.
        hint: What can be done about it; empty if nothing is known.
        next: The request that helps; empty if none does.
        retryable: Whether the same request may succeed later without any change.
        candidates: What an ambiguous name may mean.
    """

    type: str
    title: str
    status: int
    detail: str
    hint: str = ""
    next: str = ""
    retryable: bool = False
    candidates: Sequence[GraphDeclaration] = ()


def problem_of(error: CodeRAGError) -> Problem:
    """Return what to tell of an error."""
    row = row_for(error)
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


def internal_problem(error: Exception) -> Problem:
    """Return what to tell of a fault, whose traceback goes to the log."""
    _log.error("a request failed inside", exc_info=error)
    told = f"a fault in CodeRAG: {type(error).__name__}"
    return Problem(_INTERNAL, HTTPStatus(500).phrase, 500, told, "The log of the server has the traceback.")


def reply_of(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a reply."""
    more = {"retry-after": "1"} if problem.retryable else {}
    return Response(json_bytes(problem), problem.status, {**more, **(headers or {})}, PROBLEM_TYPE)


def install_handlers(app: FastAPI) -> None:
    """Have every error of an app told as a problem."""
    app.add_exception_handler(CodeRAGError, _expected)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _internal)


async def _expected(_: Request, error: Exception) -> Response:
    assert isinstance(error, CodeRAGError)
    return reply_of(problem_of(error))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    is_unknown = any(fault["type"] in ("extra_forbidden", "missing") for fault in faults)
    taken = _fields_of(request) if is_unknown else []
    told = "; ".join(map(_fault, faults[:_MOST_FAULTS]))
    if len(faults) > _MOST_FAULTS:
        told += f"; and {len(faults) - _MOST_FAULTS} more"
    return reply_of(_request_problem(422, told, f"The body takes: {', '.join(taken)}." if taken else ""))


def _fields_of(request: Request) -> list[str]:
    """Return the fields that the body of a request may have."""
    route = request.scope.get("route")
    bodies = route.dependant.body_params if isinstance(route, APIRoute) else []
    return [name for body in bodies for name in getattr(body.field_info.annotation, "model_fields", {})]


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return reply_of(_request_problem(error.status_code, str(error.detail)), error.headers)


async def _internal(_: Request, error: Exception) -> Response:
    return reply_of(internal_problem(error))


def _request_problem(status: int, detail: str, advice: str = "") -> Problem:
    hint = f"{advice} GET /openapi.json describes every request.".lstrip()
    return Problem(INVALID_REQUEST, HTTPStatus(status).phrase, status, detail, hint)


def _fault(fault: Mapping[str, Any]) -> str:
    """Return one fault of a request, as ``body.top_k: Input should be ...``."""
    place = ".".join(str(part)[:80] for part in fault["loc"])
    return f"{place}: {fault['msg']}"
