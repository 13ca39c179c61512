"""Replies that take long, while the account, the key or the rights of their caller end."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from coderag.errors import AuthenticationError, DatabaseUnavailableError
from coderag.interfaces.server import watched_reply
from coderag.server.access.roles import Level, Role
from coderag.server.storage.models import Grant, User
from tests.support.identity_server import bind_free_port, serve_app
from tests.support.identity_world import IdentityWorld


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IdentityWorld]:
    monkeypatch.setattr(watched_reply, "CHECK_INTERVAL_S", 0.05)
    listener = bind_free_port()
    world = IdentityWorld(tmp_path, public_url=f"http://127.0.0.1:{listener.getsockname()[1]}")
    with serve_app(world.build_app(), listener):
        yield world
    world.database.close()


def remove(world: IdentityWorld, user: User, key_id: str) -> None:
    world.remove_user(user)


def disable(world: IdentityWorld, user: User, key_id: str) -> None:
    world.change_user(user, is_active=False)


def revoke(world: IdentityWorld, user: User, key_id: str) -> None:
    world.keys.revoke(world.load(user), key_id)


def hide(world: IdentityWorld, user: User, key_id: str) -> None:
    with world.database.begin() as session:
        session.query(Grant).delete()


def demote(world: IdentityWorld, user: User, key_id: str) -> None:
    world.change_user(user, role=Role.VIEWER)


CHANGES = [remove, disable, revoke, hide, demote]


def add_user(world: IdentityWorld) -> User:
    """Add an account with a grant."""
    user = world.add_user()
    shop, _ = world.add_repository("shop", "wiki")
    world.grant(world.add_team("team", user.id), Level.READ, repository_id=shop)
    return user


@pytest.mark.parametrize("change", CHANGES)
def test_stream_ends_with_the_rights_of_its_caller(world: IdentityWorld, change: Callable[..., None]) -> None:
    user = add_user(world)
    created = world.create_key(user)
    headers = {"authorization": f"Bearer {created.secret}"}
    with httpx.stream("GET", f"{world.public_url}/api/stream", headers=headers, timeout=30) as reply:
        lines = reply.iter_lines()
        for _ in range(20):
            next(lines)
        assert len(world.steps) < 900
        change(world, user, created.key.id)
        rest = [line for line in lines if line]  # it ends without a fault of the connection
    assert len(rest) < 900
    assert rest[-2] == "event: error"
    problem = json.loads(rest[-1].removeprefix("data: "))
    assert (problem["status"], problem["detail"]) == (401, "your rights have changed meanwhile")


def test_stream_of_a_browser_ends_with_its_session_although_its_key_is_in_force(world: IdentityWorld) -> None:
    user = add_user(world)
    opened = world.sessions.open_with_key(world.keys.authenticate(world.create_key(user).secret, "127.0.0.1"))
    cookies = {"coderag": opened.cookie}
    with httpx.stream("GET", f"{world.public_url}/api/stream", cookies=cookies, timeout=30) as reply:
        lines = reply.iter_lines()
        for _ in range(20):
            next(lines)
        world.sessions.close_all(user.id)
        rest = sum(line.startswith("data") for line in lines)
    assert rest < 900


def test_token_of_the_provider_ends_while_a_reply_goes_on(world: IdentityWorld) -> None:
    expires_at = world.clock() + timedelta(minutes=5)
    principal = replace(world.load(add_user(world)), kind="agent", credential_id="oidc-1", expires_at=expires_at)
    assert world.loader.reload(principal).expires_at == expires_at
    world.clock.advance(minutes=5)
    with pytest.raises(AuthenticationError, match="expired"):
        world.loader.reload(principal)


def test_stream_goes_on_while_nothing_changes_or_the_database_is_away(world: IdentityWorld, monkeypatch) -> None:
    def fail() -> None:
        raise DatabaseUnavailableError("the database does not answer")

    user = add_user(world)
    headers = {"authorization": f"Bearer {world.create_key(user).secret}"}
    with httpx.stream("GET", f"{world.public_url}/api/stream", headers=headers, timeout=30) as reply:
        lines = reply.iter_lines()
        for _ in range(30):
            next(lines)
        blog, _ = world.add_repository("blog")  # new rights end nothing
        world.grant(world.add_team("more", user.id), Level.READ, repository_id=blog)
        for _ in range(30):
            next(lines)
        monkeypatch.setattr(world.database, "read", fail)
        numbers = [int(line[6:]) for _ in range(40) if (line := next(lines))]
    assert numbers == list(range(30, 50))


@pytest.mark.parametrize("change", CHANGES)
def test_slow_reply_is_withheld(world: IdentityWorld, change: Callable[..., None]) -> None:
    user = add_user(world)
    created = world.create_key(user)
    headers = {"authorization": f"Bearer {created.secret}"}

    def end() -> httpx.Response:
        return httpx.get(f"{world.public_url}/api/slow", headers=headers, timeout=30)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(end)
        deadline = time.monotonic() + 20
        while not world.steps:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        change(world, user, created.key.id)
        time.sleep(0.1)
        world.release.set()
        reply = future.result(30)
    assert (reply.status_code, reply.json()["detail"]) == (401, "your rights have changed meanwhile")
    assert "www-authenticate" in reply.headers
