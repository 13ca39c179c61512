"""Invariants of accounts, teams and grants over any sequence of changes by any role."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from sqlalchemy import select

from coderag.errors import CodeRAGError, InvalidValueError, PermissionDeniedError, UnknownNameError
from coderag.server.access.roles import Level, Role
from coderag.server.accounts.rules import PRIVILEGED_ROLES
from coderag.server.accounts.service import AccountService
from coderag.server.storage.models import Grant, Membership, Team, User
from tests.support.server_accounts import add_repository, add_user, create_database, make_principal

ROLES = st.sampled_from(list(Role))
LEVELS = st.sampled_from([Level.READ, Level.INDEX, Level.ADMINISTER])


class AccountMachine(RuleBasedStateMachine):
    """Changes by principals of all roles, compared with a model that knows the rules."""

    users = Bundle("users")
    teams = Bundle("teams")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.database = create_database(Path(self.folder.name))
        self.accounts = AccountService(self.database)
        self.names = 0
        self.roles: dict[str, tuple[Role, bool]] = {}
        self.members: set[tuple[str, str]] = set()
        self.granted: dict[tuple[str, str], Level] = {}

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    def act(self, role: Role):
        return make_principal(role, levels=dict.fromkeys(self.repositories, Level.ADMINISTER))

    def name(self) -> str:
        self.names += 1
        return f"name-{self.names}"

    def may_manage(self, actor: Role, *roles: Role) -> bool:
        return actor is Role.OWNER or (actor is Role.ADMIN and not PRIVILEGED_ROLES.intersection(roles))

    def is_last_owner(self, user: str) -> bool:
        return [key for key, value in self.roles.items() if value == (Role.OWNER, True)] == [user]

    @initialize(target=users)
    def start(self):
        self.repositories = [add_repository(self.database, name) for name in ("shop", "tools")]
        first = add_user(self.database, "first", Role.OWNER)
        self.roles[first] = (Role.OWNER, True)
        return first

    @rule(target=users, actor=ROLES, role=ROLES, is_service=st.booleans())
    def create_user(self, actor: Role, role: Role, is_service: bool):
        name = self.name()
        try:
            if is_service:
                user = self.accounts.users.create_service_account(self.act(actor), name, role)
            else:
                user = self.accounts.users.create_person(self.act(actor), name, f"{name}@example.org", role)
        except PermissionDeniedError:
            assert not self.may_manage(actor, role)
            return multiple()
        except InvalidValueError:
            assert is_service
            assert role is Role.OWNER
            return multiple()
        assert self.may_manage(actor, role)
        self.roles[user.id] = (role, True)
        return user.id

    @rule(user=users, actor=ROLES, role=st.none() | ROLES, is_active=st.none() | st.booleans())
    def update_user(self, user: str, actor: Role, role: Role | None, is_active: bool | None) -> None:
        before = self.roles.get(user)
        try:
            self.accounts.users.update(self.act(actor), user, role=role, is_active=is_active)
        except UnknownNameError:
            assert before is None
            return
        except PermissionDeniedError:
            assert before is None or not self.may_manage(actor, before[0], role or before[0])
            return
        except InvalidValueError as error:
            assert "service account" in str(error) or self.is_last_owner(user)
            return
        assert before is not None
        assert self.may_manage(actor, before[0], role or before[0])
        self.roles[user] = (role or before[0], before[1] if is_active is None else is_active)

    @rule(user=users, actor=ROLES)
    def remove_user(self, user: str, actor: Role) -> None:
        before = self.roles.get(user)
        try:
            self.accounts.users.remove(self.act(actor), user)
        except CodeRAGError:
            assert before is None or not self.may_manage(actor, before[0]) or self.is_last_owner(user)
            return
        del self.roles[user]
        self.members = {(team, member) for team, member in self.members if member != user}

    @rule(target=teams, actor=st.sampled_from([Role.OWNER, Role.ADMIN]))
    def create_team(self, actor: Role):
        return self.accounts.teams.create(self.act(actor), self.name()).id

    @rule(team=consumes(teams))
    def remove_team(self, team: str) -> None:
        self.accounts.teams.remove(self.act(Role.ADMIN), team)
        self.members = {pair for pair in self.members if pair[0] != team}
        self.granted = {key: level for key, level in self.granted.items() if key[0] != team}

    @rule(team=teams, user=users, is_added=st.booleans())
    def change_member(self, team: str, user: str, is_added: bool) -> None:
        change = self.accounts.teams.add_member if is_added else self.accounts.teams.remove_member
        try:
            change(self.act(Role.ADMIN), team, user)
        except UnknownNameError:
            assert user not in self.roles if is_added else (team, user) not in self.members
            return
        (self.members.add if is_added else self.members.discard)((team, user))

    @rule(team=teams, index=st.integers(0, 1), level=LEVELS, actor=ROLES)
    def set_grant(self, team: str, index: int, level: Level, actor: Role) -> None:
        repository = self.repositories[index]
        try:
            self.accounts.grants.set_level(self.act(actor), team, level, repository_id=repository)
        except PermissionDeniedError:
            assert actor not in (Role.OWNER, Role.ADMIN)
            return
        self.granted[team, repository] = level

    @rule(team=teams, index=st.integers(0, 1))
    def remove_grant(self, team: str, index: int) -> None:
        actor, repository = self.act(Role.ADMIN), self.repositories[index]
        for grant in self.accounts.grants.list_grants(actor, team_id=team, repository_id=repository):
            self.accounts.grants.remove(actor, team, grant.id)
        self.granted.pop((team, repository), None)

    @invariant()
    def an_active_owner_is_left(self) -> None:
        if self.roles:
            with self.database.read() as session:
                assert session.scalars(select(User.id).where(User.role == Role.OWNER, User.is_active)).all()

    @invariant()
    def the_tables_are_those_of_the_model(self) -> None:
        with self.database.read() as session:
            users = {user.id: (Role(user.role), user.is_active) for user in session.scalars(select(User))}
            teams = set(session.scalars(select(Team.id)))
            members = {(row.team_id, row.user_id) for row in session.scalars(select(Membership))}
            grants = {(row.team_id, row.repository_id): Level(row.level) for row in session.scalars(select(Grant))}
        assert users == self.roles
        assert members == self.members
        assert grants == self.granted
        assert {team for team, _ in members} <= teams


AccountMachine.TestCase.settings = settings(max_examples=12, stateful_step_count=30)
TestAccountMachine = AccountMachine.TestCase
