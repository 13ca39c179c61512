"""Replies to a browser whose sign-in at the provider failed: a page for people, a problem for programs."""

import html
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response

from coderag.errors import CodeRAGError, QuotaExceededError
from coderag.interfaces.rest.problems import Problem, to_problem, to_response
from coderag.interfaces.web.app import SECURITY_HEADERS

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sign-in failed</title>
<h1>Sign-in failed</h1>
<p>{detail}. {hint}</p>
<p><a href="/">Back to the sign-in</a></p>
</html>
"""


def build_refusal(error: CodeRAGError, headers: Headers) -> Response:
    """Build the reply to a sign-in that failed.

    Args:
        error: Reason of the failure.
        headers: Headers of the request, which say what it accepts.
    """
    problem = to_problem(error)
    extra_headers = {"cache-control": "no-store"}
    if isinstance(error, QuotaExceededError):
        extra_headers["retry-after"] = str(max(1, round(error.wait_s)))
    elif problem.retryable:
        extra_headers["retry-after"] = "1"
    if "text/html" in headers.get("accept", ""):
        return HTMLResponse(_render(problem), problem.status, {**SECURITY_HEADERS, **extra_headers})
    return to_response(problem, extra_headers)


def _render(problem: Problem) -> str:
    detail = html.escape(problem.detail[:1].upper() + problem.detail[1:])
    return _PAGE.format(detail=detail, hint=html.escape(problem.hint))
