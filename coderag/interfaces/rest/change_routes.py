"""Route for the review of a change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from fastapi import APIRouter, Response
from pydantic import Field

from coderag.interfaces.rest.bodies import NO_NUL_PATTERN, RootBody
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.change_review import ChangeReview, ReviewedDeclaration

router = APIRouter(route_class=StrictRoute, tags=["history"])

_MAX_TESTS: Final = 500
_MAX_LINES: Final = 300  # of documents and of settings
_MAX_NEIGHBOURS: Final = 4_000  # of all declarations together, so that a reply stays below 2 MB
_MAX_PATCH_CHARS: Final = 500_000


class ChangesBody(RootBody):
    """A change; by default that of the working tree against HEAD."""

    revisions: str = Field(
        "",
        max_length=400,
        pattern=NO_NUL_PATTERN,
        description="`A..B`; `A...B` for what B changed since it left A; or `A` for the working tree against it.",
    )
    staged: bool = Field(False, description="Whether to compare the staging area with HEAD.")
    patch: str = Field("", max_length=_MAX_PATCH_CHARS, description="A unified diff to apply to HEAD in memory.")
    max_tests: int = Field(50, ge=0, le=_MAX_TESTS, description="Maximum number of listed tests.")
    depth: int = Field(1, ge=1, le=5, description="Number of calls to follow from a changed declaration.")


@dataclass(frozen=True, slots=True)
class ChangesReply:
    """Review of a change in a repository.

    Attributes:
        document_count, setting_count: Numbers of all lines of documents and settings; the first 300 are listed.
    """

    root: str
    review: ChangeReview
    document_count: int
    setting_count: int


@router.post("/changes", response_model=ChangesReply, summary="Review a change")
async def changes(body: ChangesBody, runner: RunnerDependency) -> Response:
    """Return what a change touches: declarations, what depends on them, tests, documents, settings, history.

    Dependents are those in the files as they are on disk.
    """
    return await runner.reply(partial(_review, runner, body), is_long=True)


def _review(runner: RequestRunner, body: ChangesBody) -> ChangesReply:
    with runner.hold_repository(body.root) as repository:
        review = repository.engine.review_change(
            body.revisions,
            staged=body.staged,
            patch=body.patch.encode() if body.patch else None,
            max_tests=body.max_tests,
            depth=body.depth,
        )
    limited = replace(
        review,
        declarations=_limit_neighbours(review.declarations),
        documents=review.documents[:_MAX_LINES],
        settings=review.settings[:_MAX_LINES],
    )
    return ChangesReply(repository.place, limited, len(review.documents), len(review.settings))


def _limit_neighbours(declarations: Sequence[ReviewedDeclaration]) -> list[ReviewedDeclaration]:
    limit = max(1, _MAX_NEIGHBOURS // max(1, 2 * len(declarations)))
    return [
        replace(declaration, dependents=declaration.dependents[:limit], mentions=declaration.mentions[:limit])
        for declaration in declarations
    ]
