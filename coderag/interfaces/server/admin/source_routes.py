"""Routes for the documentation and backlog systems of repositories."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, get_args

from fastapi import APIRouter, Response
from pydantic import Field, SecretStr

from coderag.errors import InvalidValueError
from coderag.interfaces.rest.bodies import NO_NUL_PATTERN, RequestBody
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.access import require_repository
from coderag.interfaces.server.admin.job_routes import SyncJobReply, to_job_reply
from coderag.interfaces.server.admin.parameters import CursorParameter, LimitParameter, RepositoryId, SourceName
from coderag.interfaces.server.admin.services import (
    AdministrationServices,
    PrincipalDependency,
    ServicesDependency,
)
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage, slice_page
from coderag.server.repositories.source_fields import SettingField, list_systems
from coderag.server.storage.models import RepositorySource

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["administration"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/source-systems": Action.REPOSITORIES_MANAGE,
    "GET /server/repositories/{repository_id}/sources": Action.REPOSITORY_READ,
    "PUT /server/repositories/{repository_id}/sources/{source}": Action.REPOSITORIES_MANAGE,
    "DELETE /server/repositories/{repository_id}/sources/{source}": Action.REPOSITORIES_MANAGE,
    "POST /server/repositories/{repository_id}/sources/{source}/sync": Action.REPOSITORY_INDEX,
}

_MAX_TOKEN_CHARS: Final = 20_000
_MAX_TEXT_CHARS: Final = 4_000
_MAX_ENTRIES: Final = 500

_SettingText = Annotated[str, Field(max_length=_MAX_TEXT_CHARS, pattern=NO_NUL_PATTERN)]
_SettingValue = _SettingText | bool | int | float | Annotated[list[_SettingText], Field(max_length=_MAX_ENTRIES)]

RemoteSystem = Literal["confluence", "jira", "sharepoint", "azure_devops", "clickup"]


class SourceBody(RequestBody):
    """Settings of a source; they replace those that it has."""

    system: RemoteSystem = Field(description="Kind of the system.")
    settings: dict[_SettingText, _SettingValue] = Field(
        max_length=_MAX_ENTRIES, description="Settings of the system as in `.coderag.yaml`, without the token."
    )
    token: SecretStr | None = Field(
        None,
        strict=False,
        min_length=1,
        max_length=_MAX_TOKEN_CHARS,
        description="Token or key, never shown again. Without one, the stored token stays.",
    )


class SourceSyncBody(RequestBody):
    """Options of a synchronisation."""

    full: bool = Field(False, description="Whether its items are removed first, and all of them read again.")


@dataclass(frozen=True, slots=True)
class SourceReply:
    """A source of documentation or backlog items.

    Attributes:
        kind: `documentation` or `backlog`.
        is_on_server: Whether the server has its settings; otherwise the files of the repository have them.
        settings: Its settings without the token, only for those who manage repositories; null for others.
        items: Mirrored items as of the last synchronisation.
        error: Why the last synchronisation was not complete; empty if it was.
        synced_at: Time of the last synchronisation that got to its end; null if there was none with these settings.
    """

    id: str
    name: str
    kind: str
    is_on_server: bool
    settings: dict[str, Any] | None
    items: int
    error: str
    synced_at: datetime | None


@dataclass(frozen=True, slots=True)
class SourceSystemReply:
    """A system that a source can have, with its settings but the token."""

    name: RemoteSystem
    fields: list[SettingField]


@router.get("/source-systems", response_model=ListPage[SourceSystemReply], summary="List systems of sources")
def list_source_systems(_principal: PrincipalDependency) -> ListPage[SourceSystemReply]:
    """List the systems of documentation and tickets with the settings of each, for forms."""
    systems = list_systems()
    return ListPage([SourceSystemReply(name, systems[name]) for name in get_args(RemoteSystem)], None)


@router.get(
    "/repositories/{repository_id}/sources",
    response_model=ListPage[SourceReply],
    summary="List sources of a repository",
)
def list_sources(
    repository_id: RepositoryId,
    services: ServicesDependency,
    principal: PrincipalDependency,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[SourceReply]:
    """List the sources of a repository that the caller sees, by name."""
    require_repository(services, principal, repository_id, Action.REPOSITORY_READ)
    sources = services.accounts.grants.list_sources(principal, repository_id)
    page = slice_page(sorted(sources, key=_sort_key), _sort_key, cursor, limit)
    return ListPage([_to_reply(services, principal, source) for source in page.items], page.next)


@router.put(
    "/repositories/{repository_id}/sources/{source}", response_model=SourceReply, summary="Set a source of a repository"
)
def put_source(
    repository_id: RepositoryId,
    source: SourceName,
    body: SourceBody,
    services: ServicesDependency,
    principal: PrincipalDependency,
) -> SourceReply:
    """Add a source, or replace its settings, and queue a job that synchronises it.

    The token is encrypted and never shown again. A stored token is not sent to another server: a new address needs its token.
    """
    require_repository(services, principal, repository_id, Action.REPOSITORIES_MANAGE)
    if reserved := sorted({"system", "token"} & body.settings.keys()):
        message = f"settings.{reserved[0]}: belongs beside the settings"
        raise InvalidValueError(message, hint=f"Move it to `{reserved[0]}` of the body.")
    values: dict[str, Any] = {"system": body.system, **body.settings}
    if body.token is not None:
        values["token"] = body.token.get_secret_value()
    return _to_reply(services, principal, services.sources.put(repository_id, source, values))


@router.delete(
    "/repositories/{repository_id}/sources/{source}",
    status_code=204,
    response_class=Response,
    summary="Remove a source of a repository",
)
def remove_source(
    repository_id: RepositoryId, source: SourceName, services: ServicesDependency, principal: PrincipalDependency
) -> None:
    """Remove a source with its grants, and queue a job that removes its items. Nobody finds them from now on."""
    require_repository(services, principal, repository_id, Action.REPOSITORIES_MANAGE)
    services.sources.remove(repository_id, source)


@router.post(
    "/repositories/{repository_id}/sources/{source}/sync",
    status_code=202,
    response_model=SyncJobReply,
    summary="Synchronise a source",
)
def sync_source(
    repository_id: RepositoryId,
    source: SourceName,
    services: ServicesDependency,
    principal: PrincipalDependency,
    body: SourceSyncBody | None = None,
) -> SyncJobReply:
    """Queue a job of the repository, which synchronises all its sources, or join the one that is queued."""
    repository = require_repository(services, principal, repository_id, Action.REPOSITORY_INDEX)
    name = services.accounts.grants.find_source(principal, repository_id, source).name
    job = services.sources.submit(repository_id, name, full=body is not None and body.full)
    return to_job_reply(job, {repository.id: repository.name})


def _sort_key(source: RepositorySource) -> tuple[str, str]:
    return source.name, source.id


def _to_reply(services: AdministrationServices, principal: Principal, source: RepositorySource) -> SourceReply:
    is_on_server = source.sealed_settings is not None
    manages = principal.may(Action.REPOSITORIES_MANAGE)
    return SourceReply(
        id=source.id,
        name=source.name,
        kind=source.kind,
        is_on_server=is_on_server,
        settings=services.sources.describe(source) if is_on_server and manages else None,
        items=source.items,
        error=source.error,
        synced_at=source.synced_at,
    )
