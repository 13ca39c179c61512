"""Routes for teams, their members and their grants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Response
from pydantic import Field

from coderag.interfaces.rest.bodies import RequestBody
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.access import resolve_names
from coderag.interfaces.server.admin.parameters import (
    CursorParameter,
    GrantId,
    LevelName,
    LimitParameter,
    Name,
    TeamId,
    Text,
    UserId,
    VisibleLevelName,
    to_level_name,
)
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.roles import Action, Level
from coderag.server.accounts.grants import GrantSummary
from coderag.server.accounts.teams import TeamMember, TeamSummary
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["administration"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/teams": Action.USERS_READ,
    "POST /server/teams": Action.TEAMS_MANAGE,
    "GET /server/teams/{team_id}": Action.USERS_READ,
    "PATCH /server/teams/{team_id}": Action.TEAMS_MANAGE,
    "DELETE /server/teams/{team_id}": Action.TEAMS_MANAGE,
    "PUT /server/teams/{team_id}/members/{user_id}": Action.TEAMS_MANAGE,
    "DELETE /server/teams/{team_id}/members/{user_id}": Action.TEAMS_MANAGE,
    "PUT /server/teams/{team_id}/grants": Action.TEAMS_MANAGE,
    "DELETE /server/teams/{team_id}/grants/{grant_id}": Action.TEAMS_MANAGE,
}


class NewTeamBody(RequestBody):
    """A team to create."""

    name: Name = Field(description="A unique name.")
    oidc_group: Text | None = Field(
        None, description="Group of the OpenID Connect provider whose members join the team when they sign in."
    )


class TeamChangeBody(RequestBody):
    """Changes of a team; what is left out stays."""

    name: Name | None = Field(None, description="New name.")
    oidc_group: Text | None = Field(None, description="New group of the provider; empty or null for none.")


class GrantBody(RequestBody):
    """A grant to set."""

    repository: Name = Field(description="Name of the repository.")
    source: Name | None = Field(None, description="Name of one of its sources; null grants the repository.")
    level: LevelName = Field(description="Level; each includes those before it.")


@dataclass(frozen=True, slots=True)
class GrantReply:
    """A grant.

    Attributes:
        repository: Name of the repository.
        source: Name of its source; null for a grant on the repository.
    """

    id: str
    repository: str
    source: str | None
    level: VisibleLevelName


@dataclass(frozen=True, slots=True)
class TeamDetailsReply(TeamSummary):
    """A team with its members and grants.

    Attributes:
        members: Its first 1,000 members by name; `GET /api/v1/server/users?team=` lists all.
        grants: Its grants on repositories that the caller sees.
    """

    members: Sequence[TeamMember]
    grants: Sequence[GrantReply]


@router.get("/teams", response_model=ListPage[TeamSummary], summary="List teams")
def list_teams(
    services: ServicesDependency,
    principal: PrincipalDependency,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[TeamSummary]:
    """List teams by name."""
    return services.accounts.teams.list_teams(principal, cursor=cursor, limit=limit)


@router.post("/teams", status_code=201, response_model=TeamSummary, summary="Create a team")
def create_team(body: NewTeamBody, services: ServicesDependency, principal: PrincipalDependency) -> TeamSummary:
    """Create a team without members and grants."""
    return services.accounts.teams.create(principal, body.name, body.oidc_group)


@router.get("/teams/{team_id}", response_model=TeamDetailsReply, summary="Get a team")
def get_team(team_id: TeamId, services: ServicesDependency, principal: PrincipalDependency) -> TeamDetailsReply:
    """Return a team with its members and grants."""
    teams = services.accounts.teams
    team, members = teams.get(principal, team_id), teams.list_members(principal, team_id)
    grants = services.accounts.grants.list_grants(principal, team_id=team_id)
    return TeamDetailsReply(
        id=team.id,
        name=team.name,
        oidc_group=team.oidc_group,
        created_at=team.created_at,
        member_count=team.member_count,
        members=members,
        grants=[_to_reply(grant) for grant in grants],
    )


@router.patch("/teams/{team_id}", response_model=TeamSummary, summary="Change a team")
def update_team(
    team_id: TeamId, body: TeamChangeBody, services: ServicesDependency, principal: PrincipalDependency
) -> TeamSummary:
    """Change the name of a team, or the group that it follows."""
    group = (body.oidc_group or "") if "oidc_group" in body.model_fields_set else None
    return services.accounts.teams.update(principal, team_id, name=body.name, oidc_group=group)


@router.delete("/teams/{team_id}", status_code=204, response_class=Response, summary="Remove a team")
def remove_team(team_id: TeamId, services: ServicesDependency, principal: PrincipalDependency) -> None:
    """Remove a team with its memberships and grants. Accounts and repositories stay."""
    services.accounts.teams.remove(principal, team_id)


@router.put("/teams/{team_id}/members/{user_id}", status_code=204, response_class=Response, summary="Add a member")
def add_member(team_id: TeamId, user_id: UserId, services: ServicesDependency, principal: PrincipalDependency) -> None:
    """Add an account to a team, until it is removed from it."""
    services.accounts.teams.add_member(principal, team_id, user_id)


@router.delete(
    "/teams/{team_id}/members/{user_id}", status_code=204, response_class=Response, summary="Remove a member"
)
def remove_member(
    team_id: TeamId, user_id: UserId, services: ServicesDependency, principal: PrincipalDependency
) -> None:
    """Remove an account from a team. A group of the provider brings it back when it signs in."""
    services.accounts.teams.remove_member(principal, team_id, user_id)


@router.put("/teams/{team_id}/grants", response_model=GrantReply, summary="Set a grant")
def set_grant(
    team_id: TeamId, body: GrantBody, services: ServicesDependency, principal: PrincipalDependency
) -> GrantReply:
    """Set the level of a team on a repository, or on one of its sources.

    A source without grants has the level of its repository. With the first grant, only teams with a grant see it.
    """
    grants, level = services.accounts.grants, Level[body.level.upper()]
    (repository_id,) = resolve_names(services, principal, [body.repository])
    if body.source is None:
        return _to_reply(grants.set_level(principal, team_id, level, repository_id=repository_id))
    source = grants.find_source(principal, repository_id, body.source)
    return _to_reply(grants.set_level(principal, team_id, level, source_id=source.id))


@router.delete("/teams/{team_id}/grants/{grant_id}", status_code=204, response_class=Response, summary="Remove a grant")
def remove_grant(
    team_id: TeamId, grant_id: GrantId, services: ServicesDependency, principal: PrincipalDependency
) -> None:
    """Remove a grant of a team. A source that has no grant left has the level of its repository again."""
    services.accounts.grants.remove(principal, team_id, grant_id)


def _to_reply(grant: GrantSummary) -> GrantReply:
    return GrantReply(grant.id, grant.repository, grant.source, to_level_name(grant.level))
