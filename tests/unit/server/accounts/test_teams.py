"""Teams, memberships and grants."""

import pytest
from sqlalchemy import func, select

from coderag.errors import DuplicateNameError, InvalidValueError, PermissionDeniedError, UnknownNameError
from coderag.server.access.roles import Level, Role, Scope
from coderag.server.accounts.service import AccountService
from coderag.server.storage.database import Database
from coderag.server.storage.models import Grant, HostedRepository, Membership, RepositorySource
from tests.support.server_accounts import add_repository, add_user, make_principal

ADMIN = make_principal(Role.ADMIN)
UNKNOWN = "0" * 32


def see(*repository_ids: str, level: Level = Level.ADMINISTER) -> dict[str, Level]:
    return dict.fromkeys(repository_ids, level)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER, Role.AUDITOR])
def test_only_admins_and_owners_change_teams(accounts: AccountService, database: Database, role: Role) -> None:
    team, user = accounts.teams.create(ADMIN, "core"), add_user(database, "mia", Role.MEMBER)
    repository = add_repository(database, "shop")
    actor = make_principal(role, levels=see(repository))
    for change in (
        lambda: accounts.teams.create(actor, "other"),
        lambda: accounts.teams.update(actor, team.id, name="other"),
        lambda: accounts.teams.remove(actor, team.id),
        lambda: accounts.teams.add_member(actor, team.id, user),
        lambda: accounts.teams.remove_member(actor, team.id, user),
        lambda: accounts.grants.set_level(actor, team.id, Level.READ, repository_id=repository),
        lambda: accounts.grants.remove(actor, team.id, UNKNOWN),
    ):
        with pytest.raises(PermissionDeniedError):
            change()


def test_names_of_teams_are_unique(accounts: AccountService) -> None:
    accounts.teams.create(ADMIN, "core")
    other = accounts.teams.create(ADMIN, "tools")
    with pytest.raises(DuplicateNameError, match="the name 'core' is taken"):
        accounts.teams.create(ADMIN, "core")
    with pytest.raises(DuplicateNameError):
        accounts.teams.update(ADMIN, other.id, name="core")


def test_a_group_is_set_and_removed(accounts: AccountService) -> None:
    team = accounts.teams.create(ADMIN, "core", "developers")
    assert team.oidc_group == "developers"
    assert accounts.teams.update(ADMIN, team.id, name="kernel").oidc_group == "developers"
    assert accounts.teams.update(ADMIN, team.id, oidc_group="").oidc_group is None


def test_members_are_added_counted_and_removed(accounts: AccountService, database: Database) -> None:
    team = accounts.teams.create(ADMIN, "core")
    users = [add_user(database, name, Role.MEMBER) for name in ("ben", "ann")]
    for user in (*users, users[0]):  # adding one twice changes nothing
        accounts.teams.add_member(ADMIN, team.id, user)
    assert [member.name for member in accounts.teams.list_members(ADMIN, team.id)] == ["ann", "ben"]
    assert [summary.member_count for summary in accounts.teams.list_teams(ADMIN).items] == [2]
    accounts.teams.remove_member(ADMIN, team.id, users[0])
    assert accounts.teams.get(ADMIN, team.id).member_count == 1
    with pytest.raises(UnknownNameError, match="unknown member"):
        accounts.teams.remove_member(ADMIN, team.id, users[0])


def test_adding_a_member_from_the_provider_makes_it_last(accounts: AccountService, database: Database) -> None:
    team, user = accounts.teams.create(ADMIN, "core"), add_user(database, "ann", Role.MEMBER)
    with database.begin() as session:
        session.add(Membership(team_id=team.id, user_id=user, is_from_oidc=True))
    assert accounts.teams.list_members(ADMIN, team.id)[0].is_from_oidc
    accounts.teams.add_member(ADMIN, team.id, user)
    assert not accounts.teams.list_members(ADMIN, team.id)[0].is_from_oidc


def test_unknown_teams_and_members_are_refused(accounts: AccountService, database: Database) -> None:
    team, user = accounts.teams.create(ADMIN, "core"), add_user(database, "ann", Role.MEMBER)
    for use in (
        lambda: accounts.teams.get(ADMIN, UNKNOWN),
        lambda: accounts.teams.find(ADMIN, "nothing"),
        lambda: accounts.teams.remove(ADMIN, UNKNOWN),
        lambda: accounts.teams.update(ADMIN, UNKNOWN, name="x"),
        lambda: accounts.teams.list_members(ADMIN, UNKNOWN),
        lambda: accounts.teams.add_member(ADMIN, UNKNOWN, user),
        lambda: accounts.teams.add_member(ADMIN, team.id, UNKNOWN),
    ):
        with pytest.raises(UnknownNameError):
            use()


def test_the_removal_of_a_team_removes_its_grants_only(accounts: AccountService, database: Database) -> None:
    repository = add_repository(database, "shop", "wiki")
    actor = make_principal(Role.ADMIN, levels=see(repository))
    source = accounts.grants.list_sources(actor, repository)[0]
    teams = [accounts.teams.create(actor, name) for name in ("core", "tools")]
    with database.begin() as session:
        session.get_one(HostedRepository, repository).team_id = teams[0].id
    for team in teams:
        accounts.grants.set_level(actor, team.id, Level.READ, repository_id=repository)
        accounts.grants.set_level(actor, team.id, Level.READ, source_id=source.id)
    accounts.teams.remove(actor, teams[0].id)
    assert {grant.team for grant in accounts.grants.list_grants(actor)} == {"tools"}
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Grant)) == 2
        assert session.get_one(HostedRepository, repository).team_id is None


def test_a_grant_is_set_once_and_changed(accounts: AccountService, database: Database) -> None:
    repository = add_repository(database, "shop")
    actor, team = make_principal(Role.ADMIN, levels=see(repository)), accounts.teams.create(ADMIN, "core")
    first = accounts.grants.set_level(actor, team.id, Level.READ, repository_id=repository)
    second = accounts.grants.set_level(actor, team.id, Level.INDEX, repository_id=repository)
    assert (first.id, first.level, second.level) == (second.id, Level.READ, Level.INDEX)
    assert (second.team, second.repository, second.source) == ("core", "shop", None)
    accounts.grants.remove(actor, team.id, first.id)
    assert accounts.grants.list_grants(actor) == []


def test_a_grant_has_one_subject_and_a_level(accounts: AccountService, database: Database) -> None:
    repository = add_repository(database, "shop", "wiki")
    actor, team = make_principal(Role.ADMIN, levels=see(repository)), accounts.teams.create(ADMIN, "core")
    source = accounts.grants.list_sources(actor, repository)[0].id
    for subjects in ({}, {"repository_id": repository, "source_id": source}):
        with pytest.raises(InvalidValueError, match="either a repository or a source"):
            accounts.grants.set_level(actor, team.id, Level.READ, **subjects)
    with pytest.raises(InvalidValueError, match="level none"):
        accounts.grants.set_level(actor, team.id, Level.NONE, repository_id=repository)


def test_a_bound_key_grants_nothing_beyond_its_binding(accounts: AccountService, database: Database) -> None:
    bound, hidden = add_repository(database, "bound"), add_repository(database, "hidden", "wiki")
    team, everything = accounts.teams.create(ADMIN, "core"), make_principal(Role.ADMIN, levels=see(bound, hidden))
    source = accounts.grants.list_sources(everything, hidden)[0].id
    kept = accounts.grants.set_level(everything, team.id, Level.READ, repository_id=hidden)
    actor = make_principal(Role.ADMIN, levels=see(bound))
    replies = []
    for repository_id, source_id in ((hidden, None), (UNKNOWN, None), (None, source), (None, UNKNOWN)):
        with pytest.raises(UnknownNameError) as caught:
            accounts.grants.set_level(actor, team.id, Level.READ, repository_id=repository_id, source_id=source_id)
        replies.append(str(caught.value).replace(repository_id or source_id or "", "ID"))
    assert replies[0] == replies[1]  # hidden and unknown ones reply alike
    assert replies[2] == replies[3]
    with pytest.raises(UnknownNameError):
        accounts.grants.remove(actor, team.id, kept.id)
    assert accounts.grants.list_grants(actor) == []
    reader = make_principal(Role.ADMIN, levels=see(bound, level=Level.READ), scopes=frozenset(Scope))
    with pytest.raises(PermissionDeniedError, match="level administer"):
        accounts.grants.set_level(reader, team.id, Level.READ, repository_id=bound)


def test_grants_on_hidden_repositories_are_not_listed(accounts: AccountService, database: Database) -> None:
    repository = add_repository(database, "shop")
    admin, team = make_principal(Role.ADMIN, levels=see(repository)), accounts.teams.create(ADMIN, "core")
    accounts.grants.set_level(admin, team.id, Level.READ, repository_id=repository)
    assert accounts.grants.list_grants(make_principal(Role.AUDITOR)) == []
    assert len(accounts.grants.list_grants(admin, team_id=team.id, repository_id=repository)) == 1
    assert accounts.grants.list_grants(admin, team_id=UNKNOWN) == []


def test_only_visible_sources_are_listed(accounts: AccountService, database: Database) -> None:
    repository = add_repository(database, "shop", "wiki", "tracker")
    admin = make_principal(Role.ADMIN, levels=see(repository))
    tracker, wiki = accounts.grants.list_sources(admin, repository)
    assert (tracker.name, wiki.name) == ("tracker", "wiki")
    member = make_principal(Role.MEMBER, levels=see(repository, level=Level.READ), source_ids={wiki.id: Level.READ})
    assert [source.name for source in accounts.grants.list_sources(member, repository)] == ["wiki"]
    with pytest.raises(UnknownNameError):
        accounts.grants.list_sources(make_principal(Role.MEMBER), repository)


def test_a_restricted_source_that_comes_back_stays_restricted(accounts: AccountService, database: Database) -> None:
    repository = add_repository(database, "shop", "wiki", "tracker")
    actor, team = make_principal(Role.ADMIN, levels=see(repository)), accounts.teams.create(ADMIN, "core")
    wiki = next(source for source in accounts.grants.list_sources(actor, repository) if source.name == "wiki")
    accounts.grants.set_level(actor, team.id, Level.READ, source_id=wiki.id)
    accounts.grants.synchronize_sources(repository, {"issues": "backlog"})
    assert {source.name for source in accounts.grants.list_sources(actor, repository)} == {"issues", "wiki"}
    accounts.grants.synchronize_sources(repository, {"wiki": "documentation"})
    assert [source.id for source in accounts.grants.list_sources(actor, repository)] == [wiki.id]
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(RepositorySource)) == 1
    assert [grant.source for grant in accounts.grants.list_grants(actor)] == ["wiki"]
