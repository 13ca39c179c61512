"""Accounts: who may give which role, and which accounts stay."""

import threading
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from coderag.errors import (
    AmbiguousNameError,
    CodeRAGError,
    DuplicateNameError,
    InvalidValueError,
    PermissionDeniedError,
    UnknownNameError,
)
from coderag.server.access.roles import Role, Scope
from coderag.server.accounts.service import AccountService
from coderag.server.accounts.users import UserFilters
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, BrowserSession, Membership, Team, User
from tests.support.server_accounts import add_user, make_principal

OWNER = make_principal(Role.OWNER)
ADMIN = make_principal(Role.ADMIN)
PRIVILEGED = [Role.OWNER, Role.ADMIN]
ORDINARY = [Role.MEMBER, Role.VIEWER, Role.AUDITOR]


@pytest.mark.parametrize("role", PRIVILEGED)
def test_only_owners_give_privileged_roles(accounts: AccountService, database: Database, role: Role) -> None:
    member = add_user(database, "mia", Role.MEMBER)
    with pytest.raises(PermissionDeniedError, match=f"only an owner may manage accounts with the role {role}"):
        accounts.users.create_person(ADMIN, "Ann", "ann@example.org", role)
    with pytest.raises(PermissionDeniedError):
        accounts.users.update(ADMIN, member, role=role)
    assert accounts.users.update(OWNER, member, role=role).role == role
    assert accounts.users.create_person(OWNER, "Ann", "ann@example.org", role).role == role


@pytest.mark.parametrize("role", PRIVILEGED)
def test_admins_change_nothing_of_privileged_accounts(accounts: AccountService, database: Database, role: Role) -> None:
    add_user(database, "first", Role.OWNER)
    target = add_user(database, "target", role)
    for change in (
        lambda: accounts.users.update(ADMIN, target, role=Role.MEMBER),
        lambda: accounts.users.update(ADMIN, target, is_active=False),
        lambda: accounts.users.update(ADMIN, target, name="Other"),
        lambda: accounts.users.remove(ADMIN, target),
        lambda: accounts.users.end_sessions(ADMIN, target),
        lambda: accounts.users.get_managed(ADMIN, target),
    ):
        with pytest.raises(PermissionDeniedError):
            change()
    user = accounts.users.get(ADMIN, target)
    assert (user.role, user.is_active, user.name) == (role, True, "target")


@pytest.mark.parametrize("role", ORDINARY)
def test_admins_manage_ordinary_accounts(accounts: AccountService, role: Role) -> None:
    user = accounts.users.create_person(ADMIN, " Ann ", "Ann@Example.org", role)
    assert (user.name, user.email) == ("Ann", "ann@example.org")
    assert accounts.users.update(ADMIN, user.id, is_active=False).is_active is False
    accounts.users.remove(ADMIN, user.id)
    with pytest.raises(UnknownNameError):
        accounts.users.get(ADMIN, user.id)


@pytest.mark.parametrize("role", ORDINARY)
def test_other_roles_manage_no_account(accounts: AccountService, database: Database, role: Role) -> None:
    actor = make_principal(role)
    target = add_user(database, "target", Role.VIEWER)
    for change in (
        lambda: accounts.users.create_person(actor, "Ann", "ann@example.org", Role.VIEWER),
        lambda: accounts.users.create_service_account(actor, "ci", Role.VIEWER),
        lambda: accounts.users.update(actor, target, role=Role.MEMBER),
        lambda: accounts.users.remove(actor, target),
        lambda: accounts.users.remove(actor, "unknown"),  # no hint at which ids exist
        lambda: accounts.users.end_sessions(actor, target),
    ):
        with pytest.raises(PermissionDeniedError):
            change()


def test_a_key_limited_to_reading_manages_no_account(accounts: AccountService, database: Database) -> None:
    actor = make_principal(Role.OWNER, scopes=frozenset({Scope.READ, Scope.INDEX}))
    with pytest.raises(PermissionDeniedError):
        accounts.users.remove(actor, add_user(database, "target", Role.VIEWER))


@pytest.mark.parametrize("change", ["remove", "disable", "demote"])
def test_the_last_active_owner_stays(accounts: AccountService, database: Database, change: str) -> None:
    last = add_user(database, "last", Role.OWNER)
    add_user(database, "asleep", Role.OWNER, is_active=False)
    changes = {
        "remove": lambda: accounts.users.remove(OWNER, last),
        "disable": lambda: accounts.users.update(OWNER, last, is_active=False),
        "demote": lambda: accounts.users.update(OWNER, last, role=Role.ADMIN),
    }
    with pytest.raises(InvalidValueError, match="last active owner"):
        changes[change]()
    user = accounts.users.get(OWNER, last)
    assert (user.role, user.is_active) == (Role.OWNER, True)
    add_user(database, "second", Role.OWNER)
    changes[change]()


def test_an_inactive_owner_may_go_although_one_active_owner_is_left(
    accounts: AccountService, database: Database
) -> None:
    add_user(database, "last", Role.OWNER)
    accounts.users.remove(OWNER, add_user(database, "asleep", Role.OWNER, is_active=False))


def test_owners_who_demote_one_another_at_once_leave_one(accounts: AccountService, database: Database) -> None:
    ids = [add_user(database, name, Role.OWNER) for name in ("first", "second", "third", "fourth")]
    barrier, errors = threading.Barrier(len(ids)), []

    def demote(user_id: str) -> None:
        barrier.wait()
        try:
            accounts.users.update(OWNER, user_id, role=Role.MEMBER)
        except CodeRAGError as error:
            errors.append(type(error))

    threads = [threading.Thread(target=demote, args=(user_id,)) for user_id in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [InvalidValueError]
    assert len(accounts.users.list_users(OWNER, UserFilters(role=Role.OWNER)).items) == 1


def test_removing_an_account_ends_its_keys_sessions_and_memberships(
    accounts: AccountService, database: Database
) -> None:
    user_id = add_user(database, "mia", Role.MEMBER)
    team = accounts.teams.create(OWNER, "core")
    accounts.teams.add_member(OWNER, team.id, user_id)
    with database.begin() as session:
        key = ApiKey(user_id=user_id, name="k", prefix="p", digest="d", scopes=["read"])
        session.add(key)
        session.flush()
        session.add(
            ApiKey(user_id=user_id, parent_id=key.id, name="t", prefix="q", digest="d", scopes=[], kind="agent")
        )
        session.add(BrowserSession(digest="d", user_id=user_id, expires_at=datetime.now(UTC)))
    accounts.users.remove(OWNER, user_id)
    with database.read() as session:
        for table in (ApiKey, BrowserSession, Membership, User):
            assert session.scalar(select(func.count()).select_from(table)) == 0
        assert session.scalar(select(func.count()).select_from(Team)) == 1


def test_disabling_an_account_signs_it_out(accounts: AccountService, database: Database) -> None:
    user_id = add_user(database, "mia", Role.MEMBER)
    with database.begin() as session:
        session.add(BrowserSession(digest="d", user_id=user_id, expires_at=datetime.now(UTC)))
    accounts.users.update(ADMIN, user_id, is_active=False)
    assert accounts.users.end_sessions(ADMIN, user_id) == 0


def test_an_email_is_taken_in_any_case(accounts: AccountService) -> None:
    accounts.users.create_person(OWNER, "Ann", "ann@example.org", Role.VIEWER)
    with pytest.raises(DuplicateNameError, match=r"'ann@example\.org' is taken"):
        accounts.users.create_person(OWNER, "Ann Too", "ANN@example.org", Role.VIEWER)


@pytest.mark.parametrize("email", ["", "ann", "@example.org", "ann@", "a nn@example.org", "ann@example.org\n\x00x"])
def test_invalid_emails_are_refused(accounts: AccountService, email: str) -> None:
    with pytest.raises(InvalidValueError, match="e-mail"):
        accounts.users.create_person(OWNER, "Ann", email, Role.VIEWER)


@pytest.mark.parametrize("name", ["", "  ", "a" * 201, "a\x1b[2Jb", "a\u202eb"])
def test_invalid_names_are_refused(accounts: AccountService, name: str) -> None:
    with pytest.raises(InvalidValueError, match="printable characters"):
        accounts.users.create_service_account(OWNER, name, Role.VIEWER)


def test_service_accounts_are_no_owners_and_have_names_of_their_own(accounts: AccountService) -> None:
    service = accounts.users.create_service_account(OWNER, "ci", Role.ADMIN)
    with pytest.raises(InvalidValueError, match="cannot be an owner"):
        accounts.users.update(OWNER, service.id, role=Role.OWNER)
    with pytest.raises(InvalidValueError, match="cannot be an owner"):
        accounts.users.create_service_account(OWNER, "nightly", Role.OWNER)
    with pytest.raises(DuplicateNameError):
        accounts.users.create_service_account(OWNER, "ci", Role.VIEWER)
    other = accounts.users.create_service_account(OWNER, "nightly", Role.VIEWER)
    with pytest.raises(DuplicateNameError):
        accounts.users.update(OWNER, other.id, name="ci")
    assert accounts.users.update(OWNER, service.id, name="ci").name == "ci"


def test_a_list_is_paged_without_gaps_or_repeats(accounts: AccountService, database: Database) -> None:
    expected = sorted((name, add_user(database, name, Role.VIEWER)) for name in "dabfce")
    with database.begin() as session:
        session.add_all(User(name="same", role=Role.VIEWER) for _ in range(5))
    seen: list[tuple[str, str]] = []
    cursor = None
    while True:
        page = accounts.users.list_users(ADMIN, cursor=cursor, limit=2)
        assert len(page.items) <= 2
        seen += [(user.name, user.id) for user in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == sorted(set(seen))
    assert len(seen) == 11
    assert seen[:6] == expected


@pytest.mark.parametrize(
    "cursor", ["x", "", "W10=", "WyJhIiwgMV0=", "WyJhXHUwMDAwIiwgImIiXQ==", "WyJcdWQ4MDAiLCAiYiJd", "ä"]
)
def test_invalid_cursors_are_refused(accounts: AccountService, cursor: str) -> None:
    with pytest.raises(InvalidValueError, match="invalid cursor"):
        accounts.users.list_users(ADMIN, cursor=cursor)


def test_filters_of_the_list(accounts: AccountService, database: Database) -> None:
    ann, ben = add_user(database, "Ann_1", Role.VIEWER), add_user(database, "Ben", Role.MEMBER)
    service = add_user(database, "annotate", Role.VIEWER, kind="service")
    team = accounts.teams.create(OWNER, "core")
    accounts.teams.add_member(OWNER, team.id, ben)

    def list_ids(filters: UserFilters) -> set[str]:
        return {user.id for user in accounts.users.list_users(ADMIN, filters).items}

    assert list_ids(UserFilters("ANN")) == {ann, service}
    assert list_ids(UserFilters("n_1")) == {ann}  # the underscore is no wildcard
    assert list_ids(UserFilters("%")) == set()
    assert list_ids(UserFilters(kind="service")) == {service}
    assert list_ids(UserFilters(role=Role.MEMBER)) == {ben}
    assert list_ids(UserFilters(team_id=team.id)) == {ben}


def test_accounts_are_found_by_id_email_or_unique_name(accounts: AccountService, database: Database) -> None:
    ann = add_user(database, "ann", Role.VIEWER)
    for reference in (ann, "ANN@example.org", "ann"):
        assert accounts.users.find(ADMIN, reference).id == ann
    add_user(database, "ann", Role.VIEWER, kind="service")
    with pytest.raises(AmbiguousNameError, match="2 accounts have the name 'ann'"):
        accounts.users.find(ADMIN, "ann")
    with pytest.raises(UnknownNameError):
        accounts.users.find(ADMIN, "nobody")


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
def test_an_account_reads_itself_only(accounts: AccountService, database: Database, role: Role) -> None:
    own, other = add_user(database, "own", role), add_user(database, "other", role)
    actor = make_principal(role, own)
    assert accounts.users.get(actor, own).name == "own"
    assert accounts.users.list_teams(actor, own) == []
    for read in (lambda: accounts.users.get(actor, other), lambda: accounts.users.list_users(actor)):
        with pytest.raises(PermissionDeniedError):
            read()
