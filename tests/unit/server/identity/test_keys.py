"""API keys and tokens of agents."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.errors import AuthenticationError, InvalidValueError, PermissionDeniedError, UnknownNameError
from coderag.server.access.roles import Level, Role, Scope
from coderag.server.identity import keys as keys_module
from coderag.server.identity.keys import parse_prefix
from coderag.server.storage.models import ApiKey, User
from tests.support.identity_world import IdentityWorld

ADDRESS = "192.0.2.7"


def test_key_authenticates_with_its_scopes_and_is_stored_as_a_digest(world: IdentityWorld) -> None:
    user = world.add_user()
    shop, _ = world.add_repository("shop")
    world.grant(world.add_team("team", user.id), Level.ADMINISTER, repository_id=shop)
    created = world.create_key(user, "index", "read")
    assert re.fullmatch(r"cr_[0-9a-f]{12}_[\w-]{43}", created.secret)
    assert created.secret not in repr(created)
    principal = world.keys.authenticate(created.secret, ADDRESS)
    assert (principal.user_id, principal.kind, principal.credential_id) == (user.id, "key", created.key.id)
    assert principal.scopes == {Scope.READ, Scope.INDEX}
    assert principal.repository_levels == {shop: Level.INDEX}
    raw = (world.folder / "server.sqlite").read_bytes() + (world.folder / "server.sqlite-wal").read_bytes()
    assert created.secret.rpartition("_")[2].encode() not in raw


@pytest.mark.parametrize(
    "change", [lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"), lambda text: text[:-1], str.upper]
)
def test_wrong_and_unknown_keys_have_the_same_error(world: IdentityWorld, change) -> None:
    secret = world.create_key(world.add_user()).secret
    errors = []
    for wrong in (change(secret), "cr_000000000000_" + "x" * 43, "", "nothing"):
        with pytest.raises(AuthenticationError) as caught:
            world.keys.authenticate(wrong, ADDRESS)
        errors.append((str(caught.value), caught.value.hint))
    assert len(set(errors)) == 1


def test_key_that_expired_or_was_revoked_is_refused_at_once(world: IdentityWorld) -> None:
    user = world.add_user()
    brief = world.create_key(user, expires_at=world.clock() + timedelta(hours=1))
    lasting = world.create_key(user)
    world.keys.authenticate(brief.secret, ADDRESS)
    world.clock.advance(hours=1)
    with pytest.raises(AuthenticationError, match="the key has expired"):
        world.keys.authenticate(brief.secret, ADDRESS)
    world.keys.revoke(world.load(user), lasting.key.id)
    with pytest.raises(AuthenticationError, match="the key was revoked"):
        world.keys.authenticate(lasting.secret, ADDRESS)


def test_disabled_and_removed_accounts_are_refused_at_once(world: IdentityWorld) -> None:
    user = world.add_user()
    secret = world.create_key(user).secret
    world.change_user(user, is_active=False)
    with pytest.raises(AuthenticationError, match="the account is disabled"):
        world.keys.authenticate(secret, ADDRESS)
    world.change_user(user, is_active=True)
    world.keys.authenticate(secret, ADDRESS)
    world.remove_user(user)
    with pytest.raises(AuthenticationError, match="the key is not accepted"):
        world.keys.authenticate(secret, ADDRESS)


def test_last_use_is_stored_once_a_minute(world: IdentityWorld) -> None:
    user = world.add_user()
    created = world.create_key(user)

    def read_use() -> object:
        with world.database.read() as session:
            return session.get_one(ApiKey, created.key.id).used_at

    first = world.clock()
    world.keys.authenticate(created.secret, ADDRESS)
    world.clock.advance(seconds=59)
    world.keys.authenticate(created.secret, ADDRESS)
    assert read_use() == first
    world.clock.advance(seconds=1)
    world.keys.authenticate(created.secret, ADDRESS)
    assert read_use() == world.clock()
    with world.database.read() as session:
        assert session.get_one(User, user.id).seen_at == world.clock()


def test_agent_token_is_bound_reads_and_lives_for_an_hour(world: IdentityWorld) -> None:
    user = world.add_user()
    shop, _ = world.add_repository("shop")
    blog, _ = world.add_repository("blog")
    team = world.add_team("team", user.id)
    for repository in (shop, blog):
        world.grant(team, Level.ADMINISTER, repository_id=repository)
    created = world.keys.create_agent_token(world.load(user), [shop])
    principal = world.keys.authenticate(created.secret, ADDRESS)
    assert principal.kind == "agent"
    assert principal.repository_levels == {shop: Level.READ}
    world.clock.advance(minutes=59)
    world.keys.authenticate(created.secret, ADDRESS)
    world.clock.advance(minutes=1)
    with pytest.raises(AuthenticationError, match="expired"):
        world.keys.authenticate(created.secret, ADDRESS)
    with pytest.raises(PermissionDeniedError):
        world.keys.create_agent_token(principal, [shop])


def test_agent_token_ends_with_the_key_that_made_it(world: IdentityWorld) -> None:
    user = world.add_user()
    shop, _ = world.add_repository("shop")
    world.grant(world.add_team("team", user.id), Level.READ, repository_id=shop)
    maker = world.create_key(user, "read", "administer", expires_at=world.clock() + timedelta(minutes=10))
    principal = world.keys.authenticate(maker.secret, ADDRESS)
    token = world.keys.create_agent_token(principal, [shop])
    assert token.key.expires_at == maker.key.expires_at
    world.keys.authenticate(token.secret, ADDRESS)
    world.keys.revoke(world.load(user), maker.key.id)
    with pytest.raises(AuthenticationError, match="revoked"):
        world.keys.authenticate(token.secret, ADDRESS)
    assert all(key.revoked_at == world.clock() for key in world.keys.list(user.id))


def test_key_cannot_make_a_key_that_allows_more(world: IdentityWorld) -> None:
    user = world.add_user()
    shop, _ = world.add_repository("shop")
    blog, _ = world.add_repository("blog")
    team = world.add_team("team", user.id)
    for repository in (shop, blog):
        world.grant(team, Level.READ, repository_id=repository)
    reader = world.keys.authenticate(world.create_key(user, "read").secret, ADDRESS)
    with pytest.raises(PermissionDeniedError):
        world.keys.create(reader, user.id, "more", scopes=["read"])
    end = world.clock() + timedelta(days=1)
    maker = world.create_key(user, "administer", repository_ids=[shop], expires_at=end)
    principal = world.keys.authenticate(maker.secret, ADDRESS)
    with pytest.raises(PermissionDeniedError, match="scope index"):
        world.keys.create(principal, user.id, "more", scopes=["index"], repository_ids=[shop], expires_at=end)
    with pytest.raises(PermissionDeniedError, match="bound"):
        world.keys.create(principal, user.id, "more", scopes=["administer"], expires_at=end)
    with pytest.raises(UnknownNameError):
        world.keys.create(principal, user.id, "more", scopes=["administer"], repository_ids=[blog], expires_at=end)
    with pytest.raises(InvalidValueError, match="outlive"):
        world.keys.create(principal, user.id, "more", scopes=["administer"], repository_ids=[shop])
    world.keys.create(principal, user.id, "same", scopes=["administer"], repository_ids=[shop], expires_at=end)


def test_values_of_a_key_are_checked(world: IdentityWorld) -> None:
    user = world.add_user()
    hidden, _ = world.add_repository("hidden")
    principal = world.load(user)
    for values, fault in (
        ({"scopes": []}, "needs a scope"),
        ({"scopes": ["write"]}, "unknown scope 'write'"),
        ({"scopes": ["read"], "expires_at": world.clock()}, "has passed"),
        ({"scopes": ["read"], "repository_ids": []}, "is empty"),
    ):
        with pytest.raises(InvalidValueError, match=fault):
            world.keys.create(principal, user.id, "key", **values)
    with pytest.raises(InvalidValueError, match="1 to 200"):
        world.keys.create(principal, user.id, " ", scopes=["read"])
    errors = set()
    for repository_id in (hidden, "0" * 32):
        with pytest.raises(UnknownNameError) as caught:
            world.keys.create(principal, user.id, "key", scopes=["read"], repository_ids=[repository_id])
        errors.add(str(caught.value).replace(repository_id, "ID"))
    assert len(errors) == 1


def test_keys_of_other_accounts(world: IdentityWorld) -> None:
    owner, admin = world.add_user("owner", Role.OWNER), world.add_user("admin", Role.ADMIN)
    member, other = world.add_user("member"), world.add_user("other")
    robot = world.add_user("robot", kind="service", email=None)
    strong_robot = world.add_user("strong", Role.ADMIN, kind="service", email=None)

    def create(actor: User, target: User) -> ApiKey:
        return world.keys.create(world.load(actor), target.id, "key", scopes=["read"]).key

    assert create(admin, robot).user_id == robot.id
    assert create(owner, strong_robot).user_id == strong_robot.id
    for actor, target in ((admin, owner), (admin, member), (admin, strong_robot), (member, robot), (member, other)):
        with pytest.raises(PermissionDeniedError):
            create(actor, target)
    key = world.create_key(other).key
    with pytest.raises(UnknownNameError):
        world.keys.revoke(world.load(member), key.id)
    with pytest.raises(UnknownNameError):
        world.keys.revoke(world.load(owner), "0" * 32)
    world.keys.revoke(world.load(owner), key.id)


def test_number_of_keys_is_limited_and_ended_ones_are_deleted(world: IdentityWorld, monkeypatch) -> None:
    monkeypatch.setattr(keys_module, "MAX_KEYS", 3)
    user = world.add_user()
    keys = [world.create_key(user).key for _ in range(3)]
    with pytest.raises(InvalidValueError, match="3 keys"):
        world.create_key(user)
    world.keys.revoke(world.load(user), keys[0].id)
    world.create_key(user)
    assert len(world.keys.list(user.id)) == 4
    world.clock.advance(days=91)
    world.keys.revoke(world.load(user), keys[1].id)
    world.create_key(user)
    assert keys[0].id not in {key.id for key in world.keys.list(user.id)}


@given(st.text(max_size=80))
def test_prefix_of_any_text_is_a_prefix_or_empty(text: str) -> None:
    assert parse_prefix(text) == "" or re.fullmatch("[0-9a-f]{12}", parse_prefix(text))


def test_rights_of_a_long_request_are_loaded_again(world: IdentityWorld) -> None:
    user = world.add_user()
    shop, _ = world.add_repository("shop")
    team = world.add_team("team", user.id)
    world.grant(team, Level.READ, repository_id=shop)
    created = world.create_key(user, "read", repository_ids=[shop])
    principal = world.keys.authenticate(created.secret, ADDRESS)
    assert world.loader.reload(principal) == principal
    browser = world.sessions.open(user.id, ADDRESS).caller
    assert world.loader.reload(browser) == browser
    world.keys.revoke(world.load(user), created.key.id)
    with pytest.raises(AuthenticationError, match="revoked"):
        world.loader.reload(principal)
    world.sessions.close_all(user.id)
    with pytest.raises(AuthenticationError, match="the session has ended"):
        world.loader.reload(browser)
    world.remove_user(user)
    with pytest.raises(AuthenticationError, match="the account is disabled"):
        world.loader.reload(principal)
