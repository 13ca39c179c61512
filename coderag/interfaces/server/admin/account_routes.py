"""Routes for one's own account and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fastapi import APIRouter, Response

from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.access import list_visible
from coderag.interfaces.server.admin.parameters import (
    CursorParameter,
    LimitParameter,
    SessionId,
    VisibleLevelName,
    to_level_name,
)
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.roles import Action
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["account"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/me": Action.IDENTIFY,
    "GET /server/me/sessions": Action.SESSIONS_OWN,
    "DELETE /server/me/sessions/{session_id}": Action.SESSIONS_OWN,
}


@dataclass(frozen=True, slots=True)
class TeamName:
    """Id and name of a team."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class QuotaReply:
    """Use of a daily quota.

    Attributes:
        name: Description of the quota.
        used: Requests since midnight UTC.
        limit: Maximum number of requests; 0 is no limit.
    """

    name: str
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class AccountReply:
    """The account of the caller.

    Attributes:
        kind: `person`, or `service` for a program.
        actions: Actions that its role and the scopes of the credential allow; some need a grant on a repository, too.
        teams: Its teams.
        repositories: Its level on each repository that it sees, by name.
        quotas: Requests that were made today, and their limits.
    """

    id: str
    name: str
    email: str | None
    kind: str
    role: str
    actions: Sequence[str]
    teams: Sequence[TeamName]
    repositories: Mapping[str, VisibleLevelName]
    quotas: Sequence[QuotaReply]


@dataclass(frozen=True, slots=True)
class SessionReply:
    """A session of a browser.

    Attributes:
        address: Network address that signed in.
        is_current: Whether the request has this session.
    """

    id: str
    address: str
    created_at: datetime
    expires_at: datetime
    is_current: bool


@router.get("/me", response_model=AccountReply, summary="Get your account")
def get_account(services: ServicesDependency, principal: PrincipalDependency) -> AccountReply:
    """Return the account of the caller: its role, teams, repositories and quotas."""
    user = services.accounts.users.get(principal, principal.user_id)
    teams = services.accounts.users.list_teams(principal, principal.user_id)
    titles = {"account": "requests today"} | {f"team:{team.id}": f"requests of {team.name} today" for team in teams}
    return AccountReply(
        id=user.id,
        name=user.name,
        email=user.email,
        kind=user.kind,
        role=user.role,
        actions=[str(action) for action in Action if principal.may(action)],
        teams=[TeamName(team.id, team.name) for team in teams],
        repositories={
            repository.name: to_level_name(principal.get_level(repository.id))
            for repository in list_visible(services, principal)
        },
        quotas=[
            QuotaReply(titles.get(quota.subject, "requests of a team today"), quota.requests, quota.limit)
            for quota in services.limits.read_usage(principal)
        ],
    )


@router.get("/me/sessions", response_model=ListPage[SessionReply], summary="List your sessions")
def list_sessions(
    services: ServicesDependency,
    principal: PrincipalDependency,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[SessionReply]:
    """List the browsers that are signed in to the account of the caller, by address."""
    page = services.accounts.sessions.list_own(principal, cursor=cursor, limit=limit)
    items = [
        SessionReply(
            session.id,
            session.address,
            session.created_at,
            session.expires_at,
            is_current=session.id == principal.session_id,
        )
        for session in page.items
    ]
    return ListPage(items, page.next)


@router.delete("/me/sessions/{session_id}", status_code=204, response_class=Response, summary="End a session")
def end_session(session_id: SessionId, services: ServicesDependency, principal: PrincipalDependency) -> None:
    """Sign a browser out of the account of the caller."""
    services.accounts.sessions.end_own(principal, session_id)
