"""What role, scopes and binding of a credential allow."""

import pytest

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Level, Role, Scope

EVERYTHING = frozenset(Scope)


def make(role, scopes=EVERYTHING, **values):
    return Principal("u", "Ada", role, "key", "k", scopes=frozenset(scopes), **values)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("action", [Action.USERS_MANAGE, Action.TEAMS_MANAGE, Action.OWNERS_MANAGE, Action.AUDIT_READ])
def test_bound_credential_does_nothing_to_the_server(role, action):
    assert not make(role, is_bound=True).may(action)


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN, Role.MEMBER])
def test_bound_credential_still_administers_its_repositories(role):
    bound = make(role, is_bound=True, repository_levels={"r": Level.ADMINISTER})
    assert bound.may_on(Action.REPOSITORY_ADMINISTER, "r")
    assert not bound.may_on(Action.REPOSITORY_READ, "other")


@pytest.mark.parametrize(
    ("scopes", "action", "expected"),
    [
        ({"read"}, Action.REPOSITORY_READ, True),
        ({"read"}, Action.REPOSITORY_INDEX, False),
        ({"read"}, Action.KEYS_OWN, False),
        ({"read"}, Action.SESSIONS_OWN, False),
        ({"administer"}, Action.SESSIONS_OWN, True),
        ({"index"}, Action.REPOSITORY_INDEX, True),
        ({"index"}, Action.USERS_MANAGE, False),
        ({"administer"}, Action.USERS_MANAGE, True),
        (set(), Action.USERS_MANAGE, False),
    ],
)
def test_scopes_limit_what_the_role_allows(scopes, action, expected):
    assert make(Role.OWNER, map(Scope, scopes)).may(action) is expected


def test_sessions_are_ended_in_a_browser_and_by_no_bound_token():
    assert make(Role.VIEWER, {Scope.READ}, is_bound=True, session_id="s").may(Action.SESSIONS_OWN)
    assert not make(Role.VIEWER, is_bound=True).may(Action.SESSIONS_OWN)
    assert not make(Role.VIEWER, {Scope.READ}, is_bound=True, session_id="s").may(Action.KEYS_OWN)


@pytest.mark.parametrize("level", Level)
def test_action_on_a_repository_needs_its_level(level):
    member = make(Role.MEMBER, repository_levels={"r": level})
    assert member.may_on(Action.REPOSITORY_INDEX, "r") is (level >= Level.INDEX)
    assert member.may_on(Action.REPOSITORY_READ, "r") is (level >= Level.READ)
