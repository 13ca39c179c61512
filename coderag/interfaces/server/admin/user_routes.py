"""Routes for accounts, their keys and their sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from coderag.errors import InvalidValueError
from coderag.interfaces.rest.bodies import RequestBody
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.account_routes import TeamName
from coderag.interfaces.server.admin.key_replies import (
    CreatedKeyReply,
    KeyBody,
    KeyReply,
    issue_key,
    list_key_replies,
    revoke_key,
)
from coderag.interfaces.server.admin.parameters import (
    CursorParameter,
    Id,
    KeyId,
    LimitParameter,
    Name,
    RoleName,
    Text,
    UserId,
)
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.roles import Action, Role
from coderag.server.accounts.users import SERVICE, UserFilters
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage
from coderag.server.storage.models import Team, User

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["administration"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/users": Action.USERS_READ,
    "POST /server/users": Action.USERS_MANAGE,
    "GET /server/users/{user_id}": Action.USERS_READ,
    "PATCH /server/users/{user_id}": Action.USERS_MANAGE,
    "DELETE /server/users/{user_id}": Action.USERS_MANAGE,
    "GET /server/users/{user_id}/keys": Action.USERS_MANAGE,
    "POST /server/users/{user_id}/keys": Action.USERS_MANAGE,
    "DELETE /server/users/{user_id}/keys/{key_id}": Action.USERS_MANAGE,
    "DELETE /server/users/{user_id}/sessions": Action.USERS_MANAGE,
}


class NewUserBody(RequestBody):
    """An account to create."""

    kind: Literal["person", "service"] = Field("person", description="`service` is the account of a program.")
    name: Name = Field(description="Name of the person or program.")
    email: Text | None = Field(None, description="E-mail of a person; a person of the provider signs in with it.")
    role: RoleName = Field("member", description="Role. Only owners give the roles owner and admin.")


class UserChangeBody(RequestBody):
    """Changes of an account; what is left out stays."""

    name: Name | None = Field(None, description="New name.")
    role: RoleName | None = Field(None, description="New role. Only owners give and take the roles owner and admin.")
    is_active: bool | None = Field(None, description="False disables the account and ends its sessions.")


@dataclass(frozen=True, slots=True)
class UserReply:
    """An account.

    Attributes:
        kind: `person`, or `service` for a program.
        seen_at: Time of its last request; null if there was none.
        teams: Its teams; empty in lists.
    """

    id: str
    kind: Literal["person", "service"]
    name: str
    email: str | None
    role: RoleName
    is_active: bool
    created_at: datetime
    seen_at: datetime | None
    teams: Sequence[TeamName] = ()


@dataclass(frozen=True, slots=True)
class EndedSessionsReply:
    """Number of sessions that were ended."""

    ended: int


TextParameter = Annotated[Text, Query(description="Part of the name or e-mail, in any case.")]
KindParameter = Annotated[Literal["person", "service"] | None, Query(description="Only accounts of this kind.")]
RoleParameter = Annotated[RoleName | None, Query(description="Only accounts with this role.")]
TeamParameter = Annotated[Id | None, Query(description="Only members of the team with this id.")]


@router.get("/users", response_model=ListPage[UserReply], summary="List accounts")
def list_users(  # noqa: PLR0913  # one parameter a filter
    services: ServicesDependency,
    principal: PrincipalDependency,
    *,
    q: TextParameter = "",
    kind: KindParameter = None,
    role: RoleParameter = None,
    team: TeamParameter = None,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[UserReply]:
    """List accounts by name."""
    filters = UserFilters(q, kind, Role(role) if role else None, team or "")
    page = services.accounts.users.list_users(principal, filters, cursor=cursor, limit=limit)
    return ListPage([_to_reply(user) for user in page.items], page.next)


@router.post("/users", status_code=201, response_model=UserReply, summary="Create an account")
def create_user(body: NewUserBody, services: ServicesDependency, principal: PrincipalDependency) -> UserReply:
    """Create the account of a person or of a program."""
    users = services.accounts.users
    if body.kind == SERVICE:
        if body.email:
            raise InvalidValueError("a service account has no e-mail", hint="Leave `email` out.")
        return _to_reply(users.create_service_account(principal, body.name, Role(body.role)))
    return _to_reply(users.create_person(principal, body.name, body.email or "", Role(body.role)))


@router.get("/users/{user_id}", response_model=UserReply, summary="Get an account")
def get_user(user_id: UserId, services: ServicesDependency, principal: PrincipalDependency) -> UserReply:
    """Return an account with its teams."""
    users = services.accounts.users
    return _to_reply(users.get(principal, user_id), users.list_teams(principal, user_id))


@router.patch("/users/{user_id}", response_model=UserReply, summary="Change an account")
def update_user(
    user_id: UserId, body: UserChangeBody, services: ServicesDependency, principal: PrincipalDependency
) -> UserReply:
    """Change the name or role of an account, disable it or enable it. The last active owner stays one."""
    users = services.accounts.users
    role = Role(body.role) if body.role else None
    user = users.update(principal, user_id, name=body.name, role=role, is_active=body.is_active)
    return _to_reply(user, users.list_teams(principal, user_id))


@router.delete("/users/{user_id}", status_code=204, response_class=Response, summary="Remove an account")
def remove_user(user_id: UserId, services: ServicesDependency, principal: PrincipalDependency) -> None:
    """Remove an account with its keys, sessions and memberships. The audit record stays."""
    services.accounts.users.remove(principal, user_id)


@router.delete("/users/{user_id}/sessions", response_model=EndedSessionsReply, summary="End the sessions of an account")
def end_user_sessions(
    user_id: UserId, services: ServicesDependency, principal: PrincipalDependency
) -> EndedSessionsReply:
    """Sign an account out in all browsers."""
    return EndedSessionsReply(services.accounts.users.end_sessions(principal, user_id))


@router.get("/users/{user_id}/keys", response_model=ListPage[KeyReply], summary="List the keys of an account")
def list_user_keys(
    user_id: UserId,
    services: ServicesDependency,
    principal: PrincipalDependency,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[KeyReply]:
    """List the keys and agent tokens of an account, oldest first."""
    user = services.accounts.users.get_managed(principal, user_id)
    return list_key_replies(services, principal, user.id, cursor, limit)


@router.post(
    "/users/{user_id}/keys",
    status_code=201,
    response_model=CreatedKeyReply,
    summary="Create a key of a service account",
)
def create_user_key(
    user_id: UserId, body: KeyBody, services: ServicesDependency, principal: PrincipalDependency
) -> CreatedKeyReply:
    """Create a key of a service account. The reply has its secret, which cannot be shown again."""
    user = services.accounts.users.get_managed(principal, user_id)
    if user.kind != SERVICE:
        message = f"{user.name[:80]!r} is the account of a person"
        raise InvalidValueError(message, hint="People create their own keys, on their account page.")
    return issue_key(services, principal, user.id, body)


@router.delete(
    "/users/{user_id}/keys/{key_id}", status_code=204, response_class=Response, summary="Revoke a key of an account"
)
def revoke_user_key(
    user_id: UserId, key_id: KeyId, services: ServicesDependency, principal: PrincipalDependency
) -> None:
    """Revoke a key of an account at once, with the agent tokens that it made."""
    user = services.accounts.users.get_managed(principal, user_id)
    revoke_key(services, principal, user.id, key_id)


def _to_reply(user: User, teams: Sequence[Team] = ()) -> UserReply:
    return UserReply(
        id=user.id,
        kind="service" if user.kind == SERVICE else "person",
        name=user.name,
        email=user.email,
        role=Role(user.role).value,
        is_active=user.is_active,
        created_at=user.created_at,
        seen_at=user.seen_at,
        teams=[TeamName(team.id, team.name) for team in teams],
    )
