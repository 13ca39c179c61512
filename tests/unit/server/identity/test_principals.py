"""Levels of principals: roles, grants of teams, scopes and bindings."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.errors import AuthenticationError
from coderag.server.access.roles import MAX_GRANTED_LEVELS, ROLE_LEVELS, SCOPE_LEVELS, Level, Role, Scope
from tests.support.identity_world import IdentityWorld


def test_member_gets_the_highest_grant_of_its_teams(world: IdentityWorld) -> None:
    user, other = world.add_user("ada"), world.add_user("bob")
    shop, _ = world.add_repository("shop")
    hidden, _ = world.add_repository("hidden")
    readers, indexers, strangers = (
        world.add_team("readers", user.id),
        world.add_team("indexers", user.id),
        world.add_team("strangers", other.id),
    )
    world.grant(readers, Level.READ, repository_id=shop)
    world.grant(indexers, Level.INDEX, repository_id=shop)
    world.grant(strangers, Level.ADMINISTER, repository_id=shop)
    world.grant(strangers, Level.READ, repository_id=hidden)
    principal = world.load(user)
    assert principal.repository_levels == {shop: Level.INDEX}
    assert principal.team_ids == {readers, indexers}


def test_source_follows_its_repository_until_it_has_a_grant_of_its_own(world: IdentityWorld) -> None:
    user, other = world.add_user("ada"), world.add_user("bob")
    shop, (wiki, tickets) = world.add_repository("shop", "wiki", "tickets")
    mine, theirs = world.add_team("mine", user.id), world.add_team("theirs", other.id)
    for team in (mine, theirs):
        world.grant(team, Level.READ, repository_id=shop)
    assert world.load(user).source_levels == {wiki: Level.READ, tickets: Level.READ}
    world.grant(theirs, Level.READ, source_id=tickets)
    assert world.load(user).source_levels == {wiki: Level.READ}
    assert world.load(other).source_levels == {wiki: Level.READ, tickets: Level.READ}


def test_grant_on_a_source_does_not_show_its_repository(world: IdentityWorld) -> None:
    user = world.add_user()
    _, (wiki,) = world.add_repository("shop", "wiki")
    world.grant(world.add_team("mine", user.id), Level.READ, source_id=wiki)
    principal = world.load(user)
    assert principal.repository_levels == {}
    assert principal.source_levels == {}


def test_admin_sees_sources_that_are_granted_to_others(world: IdentityWorld) -> None:
    admin = world.add_user("root", Role.ADMIN)
    shop, (wiki,) = world.add_repository("shop", "wiki")
    world.grant(world.add_team("theirs"), Level.READ, source_id=wiki)
    principal = world.load(admin)
    assert principal.sees_all_sources
    assert principal.repository_levels == {shop: Level.ADMINISTER}
    assert principal.source_levels == {wiki: Level.ADMINISTER}


def test_disabled_account_has_no_principal(world: IdentityWorld) -> None:
    user = world.add_user(is_active=False)
    with pytest.raises(AuthenticationError, match="disabled"):
        world.load(user)


@pytest.fixture(scope="module")
def make_world(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], IdentityWorld]:
    """Return a maker of worlds, each over a database of its own."""

    def make() -> IdentityWorld:
        folder: Path = tmp_path_factory.mktemp("world")
        return IdentityWorld(folder)

    return make


_LEVELS = st.sampled_from(list(Level))
_GRANTS = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 3)), _LEVELS, max_size=8)


@settings(max_examples=40)
@given(
    role=st.sampled_from(list(Role)),
    member_of=st.sets(st.integers(0, 2)),
    grants=_GRANTS,
    source_grants=_GRANTS,
    scopes=st.none() | st.sets(st.sampled_from([*Scope, "unknown"])),
    bound=st.none() | st.sets(st.integers(0, 3)),
)
def test_levels_never_exceed_any_limit(make_world, role, member_of, grants, source_grants, scopes, bound) -> None:
    """Compare every level with one that is computed grant by grant."""
    world = make_world()
    user = world.add_user(role=role)
    repositories = [world.add_repository(f"r{number}", "wiki") for number in range(4)]
    teams = [world.add_team(f"t{number}", *([user.id] if number in member_of else [])) for number in range(3)]
    for (team, number), level in grants.items():
        world.grant(teams[team], level, repository_id=repositories[number][0])
    for (team, number), level in source_grants.items():
        world.grant(teams[team], level, source_id=repositories[number][1][0])
    ids = None if bound is None else {repositories[number][0] for number in bound}
    principal = world.load(user, scopes=scopes, bound=ids)
    world.database.close()

    known = set(Scope) if scopes is None else {scope for scope in scopes if scope in set(Scope)}
    limit = max((SCOPE_LEVELS[scope] for scope in known), default=Level.NONE)
    limit = min(limit, ROLE_LEVELS.get(role, MAX_GRANTED_LEVELS.get(role, Level.NONE)))
    for number, (repository_id, (source_id,)) in enumerate(repositories):
        own = [level for (team, each), level in grants.items() if each == number and team in member_of]
        level = Level.ADMINISTER if role in ROLE_LEVELS else max(own, default=Level.NONE)
        if bound is not None and number not in bound:
            level = Level.NONE
        expected = min(level, limit)
        assert principal.get_level(repository_id) == expected
        is_restricted = role not in ROLE_LEVELS and any(each == number for _, each in source_grants)
        of_source = [level for (team, each), level in source_grants.items() if each == number and team in member_of]
        source_level = max(of_source, default=Level.NONE) if is_restricted else expected
        expected_source = min(source_level, limit) if expected else Level.NONE
        assert principal.source_levels.get(source_id, Level.NONE) == expected_source
    assert Level.NONE not in {*principal.repository_levels.values(), *principal.source_levels.values()}
