"""Routes for the statistics of an index and for the outcome of each file."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from coderag.engine.index_statistics import list_covered_files, read_statistics
from coderag.interfaces.rest.bodies import MAX_NAME_CHARS, NO_NUL_PATTERN
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.statistics import CoveragePage, IndexStatistics
from coderag.schema.vocabulary import Outcome

router = APIRouter(route_class=StrictRoute, tags=["repositories"])

_MAX_FILES = 500

OutcomeParameter = Annotated[Outcome | None, Query(description="Only files with this outcome.")]
ReasonParameter = Annotated[
    str | None,
    Query(
        max_length=MAX_NAME_CHARS,
        pattern=NO_NUL_PATTERN,
        description="Only files of the group with this reason, as `coverage` of the statistics lists it; may be empty.",
    ),
]
TextParameter = Annotated[
    str,
    Query(
        max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Only files with this in their path or reason."
    ),
]
OffsetParameter = Annotated[int, Query(ge=0, le=100_000_000, description="Files to skip.")]
LimitParameter = Annotated[int, Query(ge=1, le=_MAX_FILES, description="Maximum number of files.")]


@router.get("/statistics", response_model=IndexStatistics, summary="Get the statistics of an index")
async def statistics(root: RootParameter, runner: RunnerDependency) -> Response:
    """Return what the current generation holds: languages, edges by relation, coverage, and sizes on disk.

    The files on disk are not read; `GET /api/v1/status` compares them.
    """
    return await runner.reply(partial(_read_statistics, runner, root), is_long=True)


@router.get("/coverage", response_model=CoveragePage, summary="List files with their outcomes")
async def coverage(  # parameters of the query
    root: RootParameter,
    runner: RunnerDependency,
    outcome: OutcomeParameter = None,
    reason: ReasonParameter = None,
    text: TextParameter = "",
    offset: OffsetParameter = 0,
    limit: LimitParameter = 100,
) -> Response:
    """List the files that were indexed, skipped or failed, with the reason, by path."""
    return await runner.reply(
        partial(_list_files, runner, root, outcome=outcome, reason=reason, text=text, offset=offset, limit=limit),
        is_long=True,
    )


def _read_statistics(runner: RequestRunner, root: str) -> IndexStatistics:
    with runner.hold_repository(root) as repository:
        return repository.engine.reader.hide_folders(read_statistics(repository.root, repository.engine.settings))


def _list_files(
    runner: RequestRunner,
    root: str,
    *,
    outcome: Outcome | None,
    reason: str | None,
    text: str,
    offset: int,
    limit: int,
) -> CoveragePage:
    with runner.hold_repository(root) as repository:
        settings = repository.engine.settings
        page = list_covered_files(
            repository.root, settings, outcome=outcome, reason=reason, text=text, offset=offset, limit=limit
        )
        return repository.engine.reader.hide_folders(page)
