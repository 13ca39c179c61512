"""Refusals of requests, before any app sees them."""

from http import HTTPStatus

from coderag.interfaces.rest.problems import INVALID_REQUEST, Problem


class RefusedError(Exception):
    """A rejected request.

    Args:
        problem: The problem to reply with.
        headers: Headers of the reply.
    """

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = headers or {}


def build_problem(status: HTTPStatus, detail: str, hint: str = "") -> Problem:
    """Build the problem of a request that is itself wrong."""
    return Problem(INVALID_REQUEST, status.phrase, status, detail, hint)
