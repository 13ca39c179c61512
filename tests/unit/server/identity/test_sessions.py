"""Sessions of browsers: rotation, grace, and their end."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from coderag.errors import AuthenticationError, PermissionDeniedError
from coderag.server.access.roles import Level, Scope
from coderag.server.identity import sessions as sessions_module
from coderag.server.identity.sessions import GRACE, ROTATION
from coderag.server.storage.models import BrowserSession
from tests.support.identity_world import IdentityWorld

ADDRESS = "192.0.2.7"


def test_session_identifies_its_account(world: IdentityWorld) -> None:
    user = world.add_user()
    opened = world.sessions.open(user.id, ADDRESS)
    assert opened.cookie not in repr(opened)
    session = world.sessions.authenticate(opened.cookie, ADDRESS)
    assert (session.caller.user_id, session.caller.kind) == (user.id, "session")
    assert session.caller.scopes == set(Scope)
    assert session.csrf == opened.csrf
    assert not session.needs_rotation
    assert world.sessions.rotate(opened.cookie) is None


@pytest.mark.parametrize("cookie", ["", "x", "a..b", "\udcff", "." * 300])
def test_forged_cookie_is_refused(world: IdentityWorld, cookie: str) -> None:
    world.sessions.open(world.add_user().id, ADDRESS)
    with pytest.raises(AuthenticationError):
        world.sessions.authenticate(cookie, ADDRESS)


def test_no_part_of_a_cookie_can_be_changed(world: IdentityWorld) -> None:
    user = world.add_user()
    strong = world.create_key(user, "administer")
    cookie = world.sessions.open_with_key(world.keys.authenticate(world.create_key(user).secret, ADDRESS)).cookie
    seed, _, secret = cookie.split(".")
    for changed in (f"{seed}..{secret}", f"{seed}.{strong.key.id}.{secret}", f"{seed[1:]}x.{strong.key.id}.{secret}"):
        with pytest.raises(AuthenticationError):
            world.sessions.authenticate(changed, ADDRESS)


def test_cookie_is_replaced_and_the_previous_one_has_a_short_grace(world: IdentityWorld) -> None:
    opened = world.sessions.open(world.add_user().id, ADDRESS)
    world.clock.advance(seconds=ROTATION.total_seconds())
    assert world.sessions.authenticate(opened.cookie, ADDRESS).needs_rotation
    cookie = world.sessions.rotate(opened.cookie)
    assert cookie not in (None, opened.cookie)
    assert world.sessions.authenticate(cookie, ADDRESS).csrf == opened.csrf
    late = world.sessions.authenticate(opened.cookie, ADDRESS)  # a request that was under way
    assert (late.needs_rotation, late.csrf) == (False, opened.csrf)
    assert world.sessions.rotate(opened.cookie) is None
    world.clock.advance(seconds=GRACE.total_seconds())
    with pytest.raises(AuthenticationError, match="the session has ended"):
        world.sessions.authenticate(opened.cookie, ADDRESS)
    with pytest.raises(AuthenticationError):  # one of the two browsers with a cookie is a thief's
        world.sessions.authenticate(cookie, ADDRESS)


def test_session_ends_after_its_hours_and_when_idle(world: IdentityWorld) -> None:
    user = world.add_user()
    cookie = world.sessions.open(user.id, ADDRESS).cookie
    for _ in range(11):
        world.clock.advance(hours=1)
        assert world.sessions.authenticate(cookie, ADDRESS).needs_rotation
        cookie = world.sessions.rotate(cookie)
    world.clock.advance(hours=1)
    with pytest.raises(AuthenticationError):
        world.sessions.authenticate(cookie, ADDRESS)
    idle = world.sessions.open(user.id, ADDRESS).cookie
    world.clock.advance(hours=2)
    with pytest.raises(AuthenticationError):
        world.sessions.authenticate(idle, ADDRESS)
    with world.database.read() as session:
        assert session.query(BrowserSession).count() == 0


def test_disabled_and_removed_accounts_are_refused_at_once(world: IdentityWorld) -> None:
    user = world.add_user()
    cookie = world.sessions.open(user.id, ADDRESS).cookie
    world.change_user(user, is_active=False)
    with pytest.raises(AuthenticationError, match="disabled"):
        world.sessions.authenticate(cookie, ADDRESS)
    with pytest.raises(AuthenticationError, match="disabled"):
        world.sessions.open(user.id, ADDRESS)
    world.change_user(user, is_active=True)
    world.sessions.authenticate(cookie, ADDRESS)
    world.remove_user(user)
    with pytest.raises(AuthenticationError):
        world.sessions.authenticate(cookie, ADDRESS)


def test_session_of_a_key_has_its_limits_and_ends_with_it(world: IdentityWorld) -> None:
    user = world.add_user()
    shop, _ = world.add_repository("shop")
    blog, _ = world.add_repository("blog")
    team = world.add_team("team", user.id)
    for repository in (shop, blog):
        world.grant(team, Level.ADMINISTER, repository_id=repository)
    key = world.create_key(user, "read", repository_ids=[shop])
    cookie = world.sessions.open_with_key(world.keys.authenticate(key.secret, ADDRESS)).cookie
    caller = world.sessions.authenticate(cookie, ADDRESS).caller
    assert (caller.kind, caller.credential_id, caller.scopes) == ("key", key.key.id, {Scope.READ})
    assert caller.repository_levels == {shop: Level.READ}
    with pytest.raises(PermissionDeniedError):
        world.keys.create(caller, user.id, "more", scopes=["read"])
    world.keys.revoke(world.load(user), key.key.id)
    with pytest.raises(AuthenticationError, match="revoked"):
        world.sessions.authenticate(cookie, ADDRESS)


def test_token_of_an_agent_opens_no_session(world: IdentityWorld) -> None:
    user = world.add_user()
    shop, _ = world.add_repository("shop")
    world.grant(world.add_team("team", user.id), Level.READ, repository_id=shop)
    token = world.keys.create_agent_token(world.load(user), [shop])
    with pytest.raises(PermissionDeniedError):
        world.sessions.open_with_key(world.keys.authenticate(token.secret, ADDRESS))


def test_number_of_sessions_is_limited(world: IdentityWorld, monkeypatch) -> None:
    monkeypatch.setattr(sessions_module, "MAX_SESSIONS", 2)
    user, other = world.add_user("ada"), world.add_user("bob")
    others = world.sessions.open(other.id, ADDRESS).cookie
    cookies = []
    for _ in range(3):
        cookies.append(world.sessions.open(user.id, ADDRESS).cookie)
        world.clock.advance(seconds=1)
    with pytest.raises(AuthenticationError):
        world.sessions.authenticate(cookies[0], ADDRESS)
    for cookie in (*cookies[1:], others):
        world.sessions.authenticate(cookie, ADDRESS)


class SessionMachine(RuleBasedStateMachine):
    """A browser that takes every new cookie, and a thief who tries those before: only the browser may stay signed in."""

    folders: "pytest.TempPathFactory"

    def __init__(self) -> None:
        super().__init__()
        self.world = IdentityWorld(self.folders.mktemp("world"))
        self.user = self.world.add_user()
        self.cookie = ""
        self.csrf = ""
        self.old_cookies: list[str] = []

    @precondition(lambda self: not self.cookie)
    @rule()
    def sign_in(self) -> None:
        opened = self.world.sessions.open(self.user.id, ADDRESS)
        self.cookie, self.csrf = opened.cookie, opened.csrf

    @rule(minutes=st.integers(0, 40))
    def wait(self, minutes: int) -> None:
        self.world.clock.advance(minutes=minutes)

    @precondition(lambda self: self.cookie)
    @rule()
    def send_request(self) -> None:
        try:
            session = self.world.sessions.authenticate(self.cookie, ADDRESS)
        except AuthenticationError:
            self._end()
            return
        assert session.caller.user_id == self.user.id
        assert session.csrf == self.csrf
        if session.needs_rotation:
            self.old_cookies.append(self.cookie)
            self.cookie = self.world.sessions.rotate(self.cookie)

    @precondition(lambda self: self.cookie)
    @rule()
    def sign_out(self) -> None:
        self.world.sessions.close(self.cookie)
        self._end()

    @invariant()
    def old_cookies_are_refused(self) -> None:
        for cookie in self.old_cookies[:-1]:
            with pytest.raises(AuthenticationError):
                self.world.sessions.authenticate(cookie, ADDRESS)

    def _end(self) -> None:
        self.old_cookies += [self.cookie, ""]
        self.cookie = ""

    def teardown(self) -> None:
        self.world.database.close()


def test_sessions_of_any_history(tmp_path_factory: pytest.TempPathFactory) -> None:
    SessionMachine.folders = tmp_path_factory
    SessionMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=20)
    SessionMachine.TestCase().runTest()
