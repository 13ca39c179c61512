"""Requests of several threads at the same moment, on SQLite and on PostgreSQL."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import select

from coderag.errors import AuthenticationError
from coderag.server.identity.oidc_accounts import OidcAccounts
from coderag.server.identity.sessions import ROTATION
from coderag.server.identity.sign_in_attempts import SignInAttempts
from coderag.server.sealing import MasterKey
from coderag.server.settings import OidcSettings
from coderag.server.storage.models import SignInFailures, User
from tests.support.identity_world import IdentityWorld

THREADS = 6


@pytest.fixture
def world(tmp_path: Path, database_url: str) -> Iterator[IdentityWorld]:
    world = IdentityWorld(tmp_path, url=database_url)
    yield world
    world.database.close()


def run_together(function: Callable[[], Any]) -> list[Any]:
    """Call a function in all threads at the same moment; an error of identity is its result."""
    barrier = Barrier(THREADS)

    def call() -> Any:
        barrier.wait(30)
        try:
            return function()
        except AuthenticationError as error:
            return error

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result(60) for future in [pool.submit(call) for _ in range(THREADS)]]


def test_every_failure_counts(world: IdentityWorld) -> None:
    def fail() -> None:
        with world.throttle.guard("192.0.2.1", "0123456789ab"):
            raise AuthenticationError("wrong")

    run_together(fail)
    with world.database.read() as session:
        rows = dict(session.execute(select(SignInFailures.subject, SignInFailures.count)).all())
    assert rows == {"address 192.0.2.1": THREADS, "key 0123456789ab": THREADS}


def test_cookie_is_replaced_once(world: IdentityWorld) -> None:
    cookie = world.sessions.open(world.add_user().id, "192.0.2.1").cookie
    world.clock.advance(seconds=ROTATION.total_seconds())
    assert world.sessions.authenticate(cookie, "192.0.2.1").needs_rotation
    new_cookies = [each for each in run_together(lambda: world.sessions.rotate(cookie)) if each is not None]
    assert len(new_cookies) == 1
    assert world.sessions.authenticate(new_cookies[0], "192.0.2.1")


def test_sign_in_is_finished_once(world: IdentityWorld) -> None:
    attempts = SignInAttempts(world.database, MasterKey(b"k" * 32), world.clock)
    state, pending = attempts.add("/search", "browser")
    results = run_together(lambda: attempts.take(state, "browser"))
    assert [result for result in results if not isinstance(result, Exception)] == [pending]


def test_first_sign_ins_of_a_person_make_one_account(world: IdentityWorld) -> None:
    world.add_team("platform", group="engineers")
    accounts = OidcAccounts(world.database, OidcSettings(issuer="https://login.example.org"), world.clock)
    claims = {"sub": "ada", "email": "ada@example.org", "email_verified": True, "groups": ["engineers"]}
    users = run_together(lambda: accounts.update(claims))
    assert len({user.id for user in users}) == 1
    assert world.list_teams(users[0].id) == {"platform": True}
    with world.database.read() as session:
        assert len(session.scalars(select(User)).all()) == 1


def test_keys_and_sessions_work(world: IdentityWorld) -> None:
    user = world.add_user()
    created = world.create_key(user, "read", "administer")
    principals = run_together(lambda: world.keys.authenticate(created.secret, "192.0.2.1"))
    assert len(set(map(repr, principals))) == 1
    world.keys.revoke(world.load(user), created.key.id)
    refusals = run_together(lambda: world.keys.authenticate(created.secret, "192.0.2.1"))
    assert all(isinstance(each, AuthenticationError) for each in refusals)
