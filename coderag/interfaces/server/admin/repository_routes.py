"""Routes for repositories by git URL, their jobs and their webhooks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import Field

from coderag.errors import PermissionDeniedError
from coderag.interfaces.rest.bodies import NO_NUL_PATTERN, RequestBody
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.access import list_visible, require_repository
from coderag.interfaces.server.admin.job_routes import SyncJobReply, to_job_reply
from coderag.interfaces.server.admin.parameters import (
    CursorParameter,
    Id,
    LimitParameter,
    Name,
    RepositoryId,
    Text,
    VisibleLevelName,
    to_level_name,
)
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage, slice_page
from coderag.server.repositories.service import MAX_INTERVAL_MINUTES
from coderag.server.storage.models import HostedRepository

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["administration"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/repositories": Action.REPOSITORIES_LIST,
    "POST /server/repositories": Action.REPOSITORIES_MANAGE,
    "GET /server/repositories/{repository_id}": Action.REPOSITORY_READ,
    "PATCH /server/repositories/{repository_id}": Action.REPOSITORY_ADMINISTER,
    "DELETE /server/repositories/{repository_id}": Action.REPOSITORIES_MANAGE,
    "POST /server/repositories/{repository_id}/sync": Action.REPOSITORY_INDEX,
    "POST /server/repositories/{repository_id}/webhook": Action.REPOSITORY_ADMINISTER,
}

_SCHEDULE_FIELDS: Final = frozenset({"interval_minutes"})
"""Fields that the level administer on the repository is enough for."""

_Url = Annotated[str, Field(min_length=1, max_length=2_000, pattern=NO_NUL_PATTERN)]
_Interval = Annotated[int, Field(ge=0, le=MAX_INTERVAL_MINUTES)]


class NewRepositoryBody(RequestBody):
    """A repository to add."""

    name: Name = Field(description="A unique name.")
    url: _Url = Field(description="Its git URL, without a password in it.")
    branch: Text = Field("", description="Branch to follow; empty follows the default branch.")
    credential_id: Id | None = Field(None, description="Id of the credential of its git server.")
    team_id: Id | None = Field(None, description="Id of the team whose share of the queue its jobs take.")
    interval_minutes: _Interval = Field(
        0, description="Minutes between fetches; 0 fetches after pushes and by hand only."
    )


class RepositoryChangeBody(RequestBody):
    """Changes of a repository; what is left out stays. All but the interval need the role admin or owner."""

    name: Name | None = Field(None, description="New name.")
    url: _Url | None = Field(None, description="New git URL.")
    branch: Text | None = Field(None, description="New branch; empty for the default branch.")
    credential_id: Id | None = Field(None, description="Id of the new credential; null for none.")
    team_id: Id | None = Field(None, description="Id of the new team; null for none.")
    interval_minutes: _Interval | None = Field(None, description="New interval.")


@dataclass(frozen=True, slots=True)
class HostedRepositoryReply:
    """A repository of the server.

    Attributes:
        credential_id, team_id: Only for those who manage repositories.
        has_webhook: Whether it has a secret for webhooks.
        commit: Indexed commit; empty before the first index.
        level: Level of the caller.
    """

    id: str
    name: str
    url: str
    branch: str
    credential_id: str | None
    team_id: str | None
    interval_minutes: int
    has_webhook: bool
    commit: str
    indexed_at: datetime | None
    next_sync_at: datetime | None
    created_at: datetime
    level: VisibleLevelName


@dataclass(frozen=True, slots=True)
class WebhookSecretReply:
    """Address and secret of a webhook; the secret is shown this once.

    Attributes:
        url: Address for the settings of the git server.
    """

    url: str
    secret: str


@router.get("/repositories", response_model=ListPage[HostedRepositoryReply], summary="List repositories of the server")
def list_hosted(
    services: ServicesDependency,
    principal: PrincipalDependency,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[HostedRepositoryReply]:
    """List the repositories that the caller sees, by name."""
    repositories = sorted(list_visible(services, principal), key=_sort_key)
    page = slice_page(repositories, _sort_key, cursor, limit)
    return ListPage([_to_reply(repository, principal) for repository in page.items], page.next)


@router.post("/repositories", status_code=201, response_model=HostedRepositoryReply, summary="Add a repository")
def add_repository(
    body: NewRepositoryBody, services: ServicesDependency, principal: PrincipalDependency
) -> HostedRepositoryReply:
    """Add a repository by its git URL, and queue a job that fetches and indexes it.

    Only owners and admins see it until a team has a grant.
    """
    repository = services.repositories.add(
        body.name,
        body.url,
        branch=body.branch,
        credential_id=body.credential_id,
        team_id=body.team_id,
        interval_minutes=body.interval_minutes,
    )
    return _to_reply(repository, principal)


@router.get(
    "/repositories/{repository_id}", response_model=HostedRepositoryReply, summary="Get a repository of the server"
)
def get_hosted(
    repository_id: RepositoryId, services: ServicesDependency, principal: PrincipalDependency
) -> HostedRepositoryReply:
    """Return a repository that the caller sees."""
    return _to_reply(require_repository(services, principal, repository_id, Action.REPOSITORY_READ), principal)


@router.patch("/repositories/{repository_id}", response_model=HostedRepositoryReply, summary="Change a repository")
def update_repository(
    repository_id: RepositoryId,
    body: RepositoryChangeBody,
    services: ServicesDependency,
    principal: PrincipalDependency,
) -> HostedRepositoryReply:
    """Change a repository. Another URL, branch or credential queues a job."""
    require_repository(services, principal, repository_id, Action.REPOSITORY_ADMINISTER)
    changes: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    reserved = sorted(changes.keys() - _SCHEDULE_FIELDS)
    if reserved and not principal.may(Action.REPOSITORIES_MANAGE):
        message = f"changing {reserved[0]} needs the role admin or owner"
        raise PermissionDeniedError(message, hint="The level administer lets you change `interval_minutes`.")
    nullable = ("credential_id", "team_id")
    changes = {name: value for name, value in changes.items() if value is not None or name in nullable}
    return _to_reply(services.repositories.update(repository_id, **changes), principal)


@router.delete("/repositories/{repository_id}", status_code=204, response_class=Response, summary="Remove a repository")
def remove_repository(
    repository_id: RepositoryId, services: ServicesDependency, principal: PrincipalDependency
) -> None:
    """Remove a repository with its grants, jobs, mirror and index."""
    require_repository(services, principal, repository_id, Action.REPOSITORY_ADMINISTER)
    services.repositories.remove(repository_id)


@router.post(
    "/repositories/{repository_id}/sync", status_code=202, response_model=SyncJobReply, summary="Fetch and index"
)
def sync_repository(
    repository_id: RepositoryId, services: ServicesDependency, principal: PrincipalDependency
) -> SyncJobReply:
    """Queue a job that fetches and indexes a repository, or join the one that is queued."""
    repository = require_repository(services, principal, repository_id, Action.REPOSITORY_INDEX)
    return to_job_reply(services.queue.submit(repository.id, "manual"), {repository.id: repository.name})


@router.post(
    "/repositories/{repository_id}/webhook",
    status_code=201,
    response_model=WebhookSecretReply,
    summary="Create a webhook secret",
)
def create_webhook(
    repository_id: RepositoryId, request: Request, services: ServicesDependency, principal: PrincipalDependency
) -> WebhookSecretReply:
    """Create a new secret for webhooks of a repository. The last one is not accepted any more."""
    require_repository(services, principal, repository_id, Action.REPOSITORY_ADMINISTER)
    secret = services.repositories.create_webhook_secret(repository_id)
    address = services.settings.public_url.rstrip("/") or str(request.base_url).rstrip("/")
    return WebhookSecretReply(f"{address}/hooks/{repository_id}", secret)


def _sort_key(entry: HostedRepository) -> tuple[str, str]:
    return entry.name, entry.id


def _to_reply(repository: HostedRepository, principal: Principal) -> HostedRepositoryReply:
    manages = principal.may(Action.REPOSITORIES_MANAGE)
    return HostedRepositoryReply(
        id=repository.id,
        name=repository.name,
        url=repository.url,
        branch=repository.branch,
        credential_id=repository.credential_id if manages else None,
        team_id=repository.team_id if manages else None,
        interval_minutes=repository.interval_minutes,
        has_webhook=repository.sealed_webhook_secret is not None,
        commit=repository.commit,
        indexed_at=repository.indexed_at,
        next_sync_at=repository.next_sync_at,
        created_at=repository.created_at,
        level=to_level_name(principal.get_level(repository.id)),
    )
