"""Accounts of people and programs."""

from dataclasses import dataclass
from typing import Final, Literal

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from coderag.errors import AmbiguousNameError, InvalidValueError
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Role
from coderag.server.accounts.rules import (
    check_email,
    check_name,
    get_user,
    lock_owners,
    make_duplicate_error,
    make_unknown_error,
    refuse_duplicates,
    require_action,
    require_management,
    require_other_owner,
)
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage, read_page
from coderag.server.storage.database import Database
from coderag.server.storage.models import BrowserSession, Membership, Team, User

UserKind = Literal["person", "service"]
PERSON: Final = "person"
SERVICE: Final = "service"


@dataclass(frozen=True, slots=True)
class UserFilters:
    """Filters of a list of accounts; empty ones match all.

    Attributes:
        text: Part of the name or e-mail, in any case.
        kind: Kind of account.
        role: Role.
        team_id: Id of a team that they are members of.
    """

    text: str = ""
    kind: UserKind | None = None
    role: Role | None = None
    team_id: str = ""


class UserService:
    """Accounts. Methods take the acting principal first and check its rights.

    Only owners give and take the roles owner and admin, or change accounts with them. The last active owner stays.

    Args:
        database: Database of the server.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create_person(self, actor: Principal, name: str, email: str, role: Role) -> User:
        """Create the account of a person.

        Raises:
            DuplicateNameError: Another account has the e-mail.
            InvalidValueError: The name or e-mail is invalid.
            PermissionDeniedError: The actor may not give the role.
        """
        require_management(actor, role)
        user = User(kind=PERSON, name=check_name(name), email=check_email(email), role=role)
        with refuse_duplicates("e-mail", user.email or ""), self._database.begin() as session:
            session.add(user)
        return user

    def create_service_account(self, actor: Principal, name: str, role: Role) -> User:
        """Create the account of a program, which signs in by keys only.

        Raises:
            DuplicateNameError: Another service account has the name.
            InvalidValueError: The name is invalid, or the role is owner.
            PermissionDeniedError: The actor may not give the role.
        """
        require_management(actor, role)
        _check_service_role(role)
        user = User(kind=SERVICE, name=check_name(name), role=role)
        with self._database.begin() as session:
            _require_free_service_name(session, user.name)
            session.add(user)
        return user

    def update(
        self,
        actor: Principal,
        user_id: str,
        *,
        name: str | None = None,
        role: Role | None = None,
        is_active: bool | None = None,
    ) -> User:
        """Change an account; None leaves a value as it is. Disabling ends its sessions, and its keys do not work meanwhile.

        Raises:
            DuplicateNameError: Another service account has the name.
            InvalidValueError: The account is the last active owner, or a value is invalid.
            PermissionDeniedError: The actor may not change accounts of the old or new role.
            UnknownNameError: There is no such account.
        """
        require_action(actor, Action.USERS_MANAGE)
        with self._database.begin() as session:
            owner_ids = lock_owners(session)
            user = get_user(session, user_id, is_locked=True)
            require_management(actor, Role(user.role), role or Role(user.role))
            if role not in (None, Role.OWNER) or is_active is False:
                require_other_owner(owner_ids, user.id)
            if name is not None and check_name(name) != user.name:
                if user.kind == SERVICE:
                    _require_free_service_name(session, check_name(name))
                user.name = check_name(name)
            if role is not None:
                if user.kind == SERVICE:
                    _check_service_role(role)
                user.role = role
            if is_active is not None:
                user.is_active = is_active
            if not user.is_active:
                _delete_sessions(session, user.id)
            return user

    def remove(self, actor: Principal, user_id: str) -> None:
        """Remove an account with its keys, sessions and memberships.

        Raises:
            InvalidValueError: The account is the last active owner.
            PermissionDeniedError: The actor may not remove accounts of its role.
            UnknownNameError: There is no such account.
        """
        require_action(actor, Action.USERS_MANAGE)
        with self._database.begin() as session:
            owner_ids = lock_owners(session)
            user = get_user(session, user_id, is_locked=True)
            require_management(actor, Role(user.role))
            require_other_owner(owner_ids, user.id)
            session.delete(user)

    def end_sessions(self, actor: Principal, user_id: str) -> int:
        """Sign an account out everywhere and return the number of its sessions.

        Raises:
            PermissionDeniedError: The actor may not manage accounts of its role.
            UnknownNameError: There is no such account.
        """
        require_action(actor, Action.USERS_MANAGE)
        with self._database.begin() as session:
            require_management(actor, Role(get_user(session, user_id).role))
            return _delete_sessions(session, user_id)

    def get(self, actor: Principal, user_id: str) -> User:
        """Return an account.

        Raises:
            PermissionDeniedError: The actor may not read other accounts.
            UnknownNameError: There is no such account.
        """
        if user_id != actor.user_id:
            require_action(actor, Action.USERS_READ)
        with self._database.read() as session:
            return get_user(session, user_id)

    def get_managed(self, actor: Principal, user_id: str) -> User:
        """Return an account whose keys the actor may manage.

        Raises:
            PermissionDeniedError: The actor may not manage accounts of its role.
            UnknownNameError: There is no such account.
        """
        require_action(actor, Action.USERS_MANAGE)
        with self._database.read() as session:
            user = get_user(session, user_id)
        require_management(actor, Role(user.role))
        return user

    def list_users(
        self,
        actor: Principal,
        filters: UserFilters = UserFilters(),
        *,
        cursor: str | None = None,
        limit: int = DEFAULT_PAGE_ITEMS,
    ) -> ListPage[User]:
        """List accounts by name.

        Raises:
            InvalidValueError: The cursor is none of this list.
            PermissionDeniedError: The actor may not.
        """
        require_action(actor, Action.USERS_READ)
        statement = select(User)
        if filters.text.strip():
            text = filters.text.strip().lower()
            names = func.lower(User.name).contains(text, autoescape=True)
            statement = statement.where(or_(names, User.email.contains(text, autoescape=True)))
        if filters.kind is not None:
            statement = statement.where(User.kind == filters.kind)
        if filters.role is not None:
            statement = statement.where(User.role == filters.role)
        if filters.team_id:
            statement = statement.join(Membership).where(Membership.team_id == filters.team_id)
        with self._database.read() as session:
            return read_page(session, statement, (User.name, User.id), cursor, limit)

    def list_teams(self, actor: Principal, user_id: str) -> list[Team]:
        """List the teams of an account by name.

        Raises as `get`.
        """
        self.get(actor, user_id)
        with self._database.read() as session:
            memberships = select(Team).join(Membership).where(Membership.user_id == user_id)
            return list(session.scalars(memberships.order_by(Team.name)))

    def find(self, actor: Principal, reference: str) -> User:
        """Find an account by its id, e-mail or name.

        Raises:
            AmbiguousNameError: Several accounts have the name.
            PermissionDeniedError: The actor may not list accounts.
            UnknownNameError: No account has it.
        """
        require_action(actor, Action.USERS_READ)
        with self._database.read() as session:
            exact = session.scalar(select(User).where(or_(User.id == reference, User.email == reference.lower())))
            if exact is not None:
                return exact
            named = session.scalars(select(User).where(User.name == reference).order_by(User.id)).all()
        if not named:
            raise make_unknown_error("account", reference)
        if len(named) > 1:
            ids = ", ".join(user.id for user in named[:10])
            raise AmbiguousNameError(f"{len(named)} accounts have the name {reference!r}", hint=f"Give an id: {ids}.")
        return named[0]


def _check_service_role(role: Role) -> None:
    if role is Role.OWNER:
        message = "a service account cannot be an owner"
        raise InvalidValueError(message, hint="Give it the role admin, member, viewer or auditor.")


def _require_free_service_name(session: Session, name: str) -> None:
    if session.scalar(select(User.id).where(User.kind == SERVICE, User.name == name)) is not None:
        raise make_duplicate_error("name", name)


def _delete_sessions(session: Session, user_id: str) -> int:
    ids = session.scalars(delete(BrowserSession).where(BrowserSession.user_id == user_id).returning(BrowserSession.id))
    return len(ids.all())
