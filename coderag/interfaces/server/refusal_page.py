"""Replies to a browser whose sign-in at the provider failed: a page for people, a problem for programs."""

import html
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response

from coderag.errors import CodeRAGError
from coderag.interfaces.rest.problems import Problem, respond, to_problem
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
    response = respond(error)
    if "text/html" in headers.get("accept", ""):
        waits = {name: value for name, value in response.headers.items() if name == "retry-after"}
        response = HTMLResponse(_render(to_problem(error)), response.status_code, {**SECURITY_HEADERS, **waits})
    response.headers["cache-control"] = "no-store"
    return response


def _render(problem: Problem) -> str:
    detail = html.escape(problem.detail[:1].upper() + problem.detail[1:])
    return _PAGE.format(detail=detail, hint=html.escape(problem.hint))
