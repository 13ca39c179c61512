"""Routes for the recent searches and questions of a repository."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.stores.query_log import MAX_RECORDS, QueryKind, QueryLog, QueryRecord
from coderag.workspace.engines import get_index_folder

router = APIRouter(route_class=StrictRoute, tags=["queries"])


@dataclass(frozen=True, slots=True)
class QueriesReply:
    """Recent searches and questions, newest first.

    Attributes:
        queries: A page of them.
        total: Number of all of them.
        is_recording: Whether new ones are recorded, see the setting `service.record_queries`.
    """

    root: str
    queries: Sequence[QueryRecord]
    total: int
    is_recording: bool


@dataclass(frozen=True, slots=True)
class DeletedQueriesReply:
    """Number of deleted records."""

    deleted: int


OffsetParameter = Annotated[int, Query(ge=0, lt=MAX_RECORDS, description="Records to skip.")]
LimitParameter = Annotated[int, Query(ge=1, le=50, description="Maximum number of records.")]
KindParameter = Annotated[QueryKind | None, Query(description="Only records of this kind.")]
RecordParameter = Annotated[
    str | None,
    Query(min_length=1, max_length=64, pattern=r"^[a-z0-9]+$", description="Id of one record; by default all."),
]


@router.get("/queries", response_model=QueriesReply, summary="List recent queries")
async def queries(
    root: RootParameter,
    runner: RunnerDependency,
    offset: OffsetParameter = 0,
    limit: LimitParameter = 50,
    kind: KindParameter = None,
) -> Response:
    """List the recent searches, contexts and questions of a repository with their results, newest first.

    The last 500 are kept beside the index. `service.record_queries: false` records none.
    """
    return await runner.reply(partial(_list_queries, runner, root, offset, limit, kind))


@router.delete("/queries", response_model=DeletedQueriesReply, summary="Delete recent queries")
async def delete_queries(root: RootParameter, runner: RunnerDependency, id: RecordParameter = None) -> Response:  # noqa: A002  # the parameter's public name
    """Delete the recorded queries of a repository, or the one with an `id`."""
    return await runner.reply(partial(_delete_queries, runner, root, id))


def _list_queries(runner: RequestRunner, root: str, offset: int, limit: int, kind: QueryKind | None) -> QueriesReply:
    with runner.hold_repository(root) as repository:
        log = QueryLog(get_index_folder(repository.engine))
        records = [record for record in runner.recorder.run(log.read_records) if kind in (None, record.kind)]
        is_recording = repository.engine.settings.service.record_queries
        return QueriesReply(repository.place, records[offset : offset + limit], len(records), is_recording)


def _delete_queries(runner: RequestRunner, root: str, record_id: str | None) -> DeletedQueriesReply:
    with runner.hold_repository(root) as repository:
        log = QueryLog(get_index_folder(repository.engine))
        return DeletedQueriesReply(runner.recorder.run(partial(log.delete, record_id)))
