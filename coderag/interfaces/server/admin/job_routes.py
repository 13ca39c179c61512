"""Routes for the jobs that fetch and index repositories."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, cast

from fastapi import APIRouter, Query

from coderag.errors import InvalidValueError, UnknownNameError
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.access import read_names, require_repository, resolve_names
from coderag.interfaces.server.admin.parameters import JobId, LimitParameter, RepositoryNameParameter, Text
from coderag.interfaces.server.admin.services import (
    AdministrationServices,
    PrincipalDependency,
    ServicesDependency,
)
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Level
from coderag.server.accounts.rules import make_unknown_error
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage
from coderag.server.storage.models import Job

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["administration"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/jobs": Action.REPOSITORIES_LIST,
    "GET /server/jobs/{job_id}": Action.REPOSITORIES_LIST,
    "DELETE /server/jobs/{job_id}": Action.REPOSITORY_INDEX,
}

JobState = Literal["queued", "running", "done", "failed", "cancelled"]

StateParameter = Annotated[JobState | None, Query(description="Only jobs in this state.")]
BeforeParameter = Annotated[Text | None, Query(min_length=1, description="`next` of the page before.")]


@dataclass(frozen=True, slots=True)
class SyncJobReply:
    """A job that fetches and indexes a repository.

    Attributes:
        repository: Name of the repository.
        reason: `add`, `push`, `schedule` or `manual`.
        attempts: Number of times that it was started.
        progress: Progress as of the worker; empty before it starts.
        error: Failure of the last attempt; empty if there was none.
        source_errors: By its name why each source was not synchronised completely, of those that the caller sees.
        commit: Commit that was indexed.
    """

    id: str
    repository_id: str
    repository: str
    reason: str
    state: JobState
    attempts: int
    progress: dict[str, Any]
    error: str
    source_errors: dict[str, str]
    commit: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


@router.get("/jobs", response_model=ListPage[SyncJobReply], summary="List jobs of the server")
def list_jobs(  # one parameter a filter
    services: ServicesDependency,
    principal: PrincipalDependency,
    *,
    repository: RepositoryNameParameter = "",
    state: StateParameter = None,
    cursor: BeforeParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[SyncJobReply]:
    """List the jobs of the repositories that the caller sees, newest first. Ended ones are kept for 30 days."""
    names = read_names(services, principal)
    ids = resolve_names(services, principal, [repository]) if repository else list(names)
    before = _parse_cursor(cursor) if cursor is not None else None
    jobs = services.queue.list(ids, states=[state] if state else [], before=before, limit=limit + 1)
    page = [to_job_reply(job, names, _list_source_errors(services, principal, job)) for job in jobs[:limit]]
    return ListPage(page, page[-1].created_at.isoformat() if len(jobs) > limit else None)


@router.get("/jobs/{job_id}", response_model=SyncJobReply, summary="Get a job of the server")
def get_job(job_id: JobId, services: ServicesDependency, principal: PrincipalDependency) -> SyncJobReply:
    """Return a job of a repository that the caller sees."""
    job = _find_job(services, principal, job_id)
    return to_job_reply(job, read_names(services, principal), _list_source_errors(services, principal, job))


@router.delete("/jobs/{job_id}", response_model=SyncJobReply, summary="Cancel a job of the server")
def cancel_server_job(job_id: JobId, services: ServicesDependency, principal: PrincipalDependency) -> SyncJobReply:
    """Cancel a queued or running job. The last index stays in use."""
    job = _find_job(services, principal, job_id)
    repository = require_repository(services, principal, job.repository_id, Action.REPOSITORY_INDEX)
    return to_job_reply(services.queue.cancel(job_id), {repository.id: repository.name})


def to_job_reply(
    job: Job, names: Mapping[str, str], source_errors: Mapping[str, str] = MappingProxyType({})
) -> SyncJobReply:
    """Convert a job.

    Args:
        job: The job.
        names: Names of repositories by their ids.
        source_errors: Its errors of sources that the caller sees.
    """
    return SyncJobReply(
        id=job.id,
        repository_id=job.repository_id,
        repository=names.get(job.repository_id, ""),
        reason=job.reason,
        state=cast("JobState", job.state),
        attempts=job.attempts,
        progress=job.progress,
        error=job.error,
        source_errors=dict(source_errors),
        commit=job.commit,
        created_at=job.created_at,
        started_at=job.started_at,
        ended_at=job.ended_at,
    )


def _list_source_errors(services: AdministrationServices, principal: Principal, job: Job) -> dict[str, str]:
    """Return the errors of the sources that the principal sees, by their names."""
    if not job.source_errors:
        return {}
    visible = {source.name for source in services.accounts.grants.list_sources(principal, job.repository_id)}
    return {name: error for name, error in job.source_errors.items() if name in visible}


def _find_job(services: AdministrationServices, principal: Principal, job_id: str) -> Job:
    """Return a job of a visible repository. The error is the same for a hidden and for an unknown job."""
    try:
        job = services.queue.get(job_id)
    except UnknownNameError as error:
        raise make_unknown_error("job", job_id) from error
    if principal.get_level(job.repository_id) is Level.NONE:
        raise make_unknown_error("job", job_id)
    return job


def _parse_cursor(cursor: str) -> datetime:
    try:
        time = datetime.fromisoformat(cursor)
        if time.tzinfo is not None:
            return time
    except (ValueError, OverflowError):
        pass
    raise InvalidValueError(f"invalid cursor {cursor[:80]!r}", hint="Pass `next` of the page before, unchanged.")
