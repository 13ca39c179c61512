"""Teams and their members."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action
from coderag.server.accounts.rules import check_name, get_user, make_unknown_error, refuse_duplicates, require_action
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage, read_page
from coderag.server.storage.database import Database
from coderag.server.storage.models import Membership, Team, User

MAX_LISTED_MEMBERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class TeamSummary:
    """A team with the number of its members.

    Attributes:
        oidc_group: Group of the OpenID Connect provider whose members join it when they sign in; None for none.
        member_count: Number of its members.
    """

    id: str
    name: str
    oidc_group: str | None
    created_at: datetime
    member_count: int


@dataclass(frozen=True, slots=True)
class TeamMember:
    """A member of a team.

    Attributes:
        is_from_oidc: Whether the membership follows the groups of the OpenID Connect provider.
    """

    id: str
    name: str
    email: str | None
    role: str
    is_from_oidc: bool


class TeamService:
    """Teams. Methods take the acting principal first and check its rights.

    Args:
        database: Database of the server.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, actor: Principal, name: str, oidc_group: str | None = None) -> TeamSummary:
        """Create a team.

        Raises:
            DuplicateNameError: Another team has the name.
            InvalidValueError: The name or group is invalid.
            PermissionDeniedError: The actor may not.
        """
        require_action(actor, Action.TEAMS_MANAGE)
        team = Team(name=check_name(name), oidc_group=_check_group(oidc_group))
        with refuse_duplicates("name", team.name), self._database.begin() as session:
            session.add(team)
        return _summarize(team, 0)

    def update(
        self, actor: Principal, team_id: str, *, name: str | None = None, oidc_group: str | None = None
    ) -> TeamSummary:
        """Change a team; None leaves a value as it is, and an empty group removes it.

        Raises:
            DuplicateNameError: Another team has the name.
            InvalidValueError: The name or group is invalid.
            PermissionDeniedError: The actor may not.
            UnknownNameError: There is no such team.
        """
        require_action(actor, Action.TEAMS_MANAGE)
        with refuse_duplicates("name", name or ""), self._database.begin() as session:
            team = get_team(session, team_id, is_locked=True)
            if name is not None:
                team.name = check_name(name)
            if oidc_group is not None:
                team.oidc_group = _check_group(oidc_group)
            session.flush()
            return _summarize(team, _count_members(session, team.id))

    def remove(self, actor: Principal, team_id: str) -> None:
        """Remove a team with its memberships and grants.

        Raises:
            PermissionDeniedError: The actor may not.
            UnknownNameError: There is no such team.
        """
        require_action(actor, Action.TEAMS_MANAGE)
        with self._database.begin() as session:
            session.delete(get_team(session, team_id, is_locked=True))

    def get(self, actor: Principal, team_id: str) -> TeamSummary:
        """Return a team.

        Raises:
            PermissionDeniedError: The actor may not.
            UnknownNameError: There is no such team.
        """
        require_action(actor, Action.USERS_READ)
        with self._database.read() as session:
            return _summarize(get_team(session, team_id), _count_members(session, team_id))

    def find(self, actor: Principal, reference: str) -> TeamSummary:
        """Find a team by its id or name.

        Raises:
            PermissionDeniedError: The actor may not.
            UnknownNameError: No team has it.
        """
        require_action(actor, Action.USERS_READ)
        with self._database.read() as session:
            # A name may look like the id of another team; the name wins, as people type names.
            team = session.scalar(select(Team).where(Team.name == reference)) or session.get(Team, reference)
            if team is None:
                raise make_unknown_error("team", reference)
            return _summarize(team, _count_members(session, team.id))

    def list_teams(
        self, actor: Principal, *, cursor: str | None = None, limit: int = DEFAULT_PAGE_ITEMS
    ) -> ListPage[TeamSummary]:
        """List the teams by name.

        Raises:
            InvalidValueError: The cursor is none of this list.
            PermissionDeniedError: The actor may not.
        """
        require_action(actor, Action.USERS_READ)
        with self._database.read() as session:
            page = read_page(session, select(Team), (Team.name, Team.id), cursor, limit)
            counts = _count_all_members(session, [team.id for team in page.items])
        return ListPage([_summarize(team, counts.get(team.id, 0)) for team in page.items], page.next)

    def list_members(self, actor: Principal, team_id: str) -> list[TeamMember]:
        """List the first members of a team by name, at most `MAX_LISTED_MEMBERS`; `UserService.list_users` pages.

        Raises:
            PermissionDeniedError: The actor may not.
            UnknownNameError: There is no such team.
        """
        require_action(actor, Action.USERS_READ)
        statement = select(User, Membership.is_from_oidc).join(Membership).where(Membership.team_id == team_id)
        with self._database.read() as session:
            get_team(session, team_id)
            rows = session.execute(statement.order_by(User.name, User.id).limit(MAX_LISTED_MEMBERS)).all()
        return [TeamMember(user.id, user.name, user.email, user.role, is_from_oidc) for user, is_from_oidc in rows]

    def add_member(self, actor: Principal, team_id: str, user_id: str) -> None:
        """Add an account to a team. A membership that followed the provider's groups becomes a lasting one.

        Raises:
            PermissionDeniedError: The actor may not.
            UnknownNameError: There is no such team or account.
        """
        require_action(actor, Action.TEAMS_MANAGE)
        with self._database.begin() as session:
            get_team(session, team_id, is_locked=True)  # serialises additions of the same member
            get_user(session, user_id)
            session.merge(Membership(team_id=team_id, user_id=user_id, is_from_oidc=False))

    def remove_member(self, actor: Principal, team_id: str, user_id: str) -> None:
        """Remove an account from a team.

        Raises:
            PermissionDeniedError: The actor may not.
            UnknownNameError: There is no such team, or the account is no member.
        """
        require_action(actor, Action.TEAMS_MANAGE)
        with self._database.begin() as session:
            get_team(session, team_id)
            membership = session.get(Membership, (team_id, user_id), with_for_update=True)
            if membership is None:
                raise make_unknown_error("member", user_id)
            session.delete(membership)


def get_team(session: Session, team_id: str, *, is_locked: bool = False) -> Team:
    """Return a team by its id.

    Raises:
        UnknownNameError: There is none.
    """
    team = session.get(Team, team_id, with_for_update=is_locked)
    if team is None:
        raise make_unknown_error("team", team_id)
    return team


def _check_group(group: str | None) -> str | None:
    return check_name(group, "group") if group else None


def _summarize(team: Team, member_count: int) -> TeamSummary:
    return TeamSummary(team.id, team.name, team.oidc_group, team.created_at, member_count)


def _count_members(session: Session, team_id: str) -> int:
    return _count_all_members(session, [team_id]).get(team_id, 0)


def _count_all_members(session: Session, team_ids: Sequence[str]) -> dict[str, int]:
    counts = select(Membership.team_id, func.count()).where(Membership.team_id.in_(team_ids))
    return {team_id: int(count) for team_id, count in session.execute(counts.group_by(Membership.team_id))}
