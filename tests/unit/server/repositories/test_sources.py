"""Sources of hosted repositories: settings, secrets, jobs and states."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from coderag.errors import CodeRAGError, InvalidValueError, UnknownNameError
from coderag.schema.mirrored_items import SourceRun
from coderag.server.repositories.sources import MAX_SOURCES, SourceService
from coderag.server.storage.models import RepositorySource
from tests.support.server_world import ServerWorld, resolve_to

TOKEN = "token-of-the-tracker"  # made up
JIRA = {"system": "jira", "address": "https://tracker.example", "user": "a@b.example", "projects": ["SHOP"]}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ServerWorld]:
    world = ServerWorld(tmp_path / "server")
    yield world
    world.close()


@pytest.fixture
def shop(world: ServerWorld) -> str:
    return world.add_repository("shop")


def make_service(world: ServerWorld, address: str = "93.184.216.34") -> SourceService:
    resolve: Any = resolve_to(address)
    return SourceService(
        world.database,
        world.master_key,
        world.settings,
        world.queue,
        resolve=resolve,
        clock=world.clock or (lambda: None),
    )


@pytest.fixture
def sources(world: ServerWorld) -> SourceService:
    return make_service(world)


def checkout(shop: str) -> Path:
    return Path("/repositories") / shop / "checkout"


def read(world: ServerWorld, name: str = "tracker") -> RepositorySource:
    with world.database.read() as session:
        return next(source for source in session.query(RepositorySource) if source.name == name)


def run(outcome: Any, message: str = "", source: str = "tracker") -> SourceRun:
    assert outcome
    world_time: Any = None
    return SourceRun(source, world_time, world_time, outcome, message)


def test_settings_are_sealed_and_reach_the_engine_with_the_token(
    world: ServerWorld, sources: SourceService, shop: str
) -> None:
    stored = sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    assert (stored.kind, sources.describe(stored)) == ("backlog", JIRA)
    assert TOKEN.encode() not in (stored.sealed_settings or b"")
    assert sources.load_settings(checkout(shop)) == {"tracker": {**JIRA, "token": TOKEN}}
    (job,) = world.queue.list([shop])
    assert (job.reason, job.state) == ("manual", "queued")


def test_settings_without_a_token_keep_the_stored_one(sources: SourceService, shop: str) -> None:
    sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    sources.put(shop, "tracker", {**JIRA, "projects": ["SHOP", "PAY"]})
    assert sources.load_settings(checkout(shop))["tracker"] == {**JIRA, "projects": ["SHOP", "PAY"], "token": TOKEN}
    sources.put(shop, "tracker", {**JIRA, "token": "another"})
    assert sources.load_settings(checkout(shop))["tracker"]["token"] == "another"


@pytest.mark.parametrize(
    "changes",
    [
        {"address": "https://thief.example"},
        {"address": "https://tracker.example:8443"},
        {"system": "confluence", "projects": None, "spaces": ["SHOP"]},
    ],
)
def test_stored_token_goes_to_no_other_server(sources: SourceService, shop: str, changes: dict[str, Any]) -> None:
    sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    values = {name: value for name, value in {**JIRA, **changes}.items() if value is not None}
    with pytest.raises(InvalidValueError, match="not sent to another server"):
        sources.put(shop, "tracker", values)
    assert sources.load_settings(checkout(shop))["tracker"] == {**JIRA, "token": TOKEN}


def test_new_source_needs_a_token_and_a_repository(world: ServerWorld, sources: SourceService, shop: str) -> None:
    for values in (JIRA, {**JIRA, "token": ""}):
        with pytest.raises(InvalidValueError, match="token: is missing"):
            sources.put(shop, "tracker", values)
    with pytest.raises(UnknownNameError):
        sources.put("f" * 32, "tracker", {**JIRA, "token": TOKEN})
    assert world.queue.list(None) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"system": "files", "path": "/etc"}, "reads files of this machine"),
        ({"system": "reader", "reader": "os:system"}, "reads files of this machine"),
        ({"credential_file": "/etc/passwd"}, "names a file of the server"),
        ({"projects": ["${HOME}"]}, "variables of the server"),
        ({"address": "http://tracker.example"}, "needs https"),
        ({"spaces": ["DOCS"]}, "spaces: Extra inputs"),
        ({"projects": []}, "set either projects or jql"),
    ],
)
def test_settings_that_reach_into_the_server_are_refused(
    world: ServerWorld, sources: SourceService, shop: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValueError, match=message):
        sources.put(shop, "tracker", {**JIRA, "token": TOKEN, **changes})
    assert world.queue.list(None) == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.5", "169.254.169.254", "::1"])
def test_hosts_with_private_addresses_are_refused(world: ServerWorld, shop: str, address: str) -> None:
    with pytest.raises(CodeRAGError, match="not public"):
        make_service(world, address).put(shop, "tracker", {**JIRA, "token": TOKEN})


def test_a_repository_has_a_limited_number_of_sources(world: ServerWorld, sources: SourceService, shop: str) -> None:
    with world.database.begin() as session:
        names = [f"s{number}" for number in range(MAX_SOURCES)]
        session.add_all(RepositorySource(repository_id=shop, name=name, kind="backlog") for name in names)
    with pytest.raises(InvalidValueError, match="at most 50 sources"):
        sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    sources.put(shop, "s7", {**JIRA, "token": TOKEN})


def test_removal_takes_the_settings_and_queues_a_job(world: ServerWorld, sources: SourceService, shop: str) -> None:
    sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    world.queue.cancel(world.queue.list(None)[0].id)
    sources.remove(shop, "tracker")
    assert sources.load_settings(checkout(shop)) == {}
    assert world.queue.list(None, states=["queued"])
    with pytest.raises(UnknownNameError):
        sources.remove(shop, "tracker")


def test_source_of_the_repositorys_own_settings_is_not_removed(
    world: ServerWorld, sources: SourceService, shop: str
) -> None:
    with world.database.begin() as session:
        session.add(RepositorySource(repository_id=shop, name="notes", kind="documentation"))
    with pytest.raises(UnknownNameError):
        sources.remove(shop, "notes")
    assert sources.submit(shop, "notes").state == "queued"
    with pytest.raises(UnknownNameError):
        sources.submit(shop, "missing")


def test_state_says_what_came_and_why_not(world: ServerWorld, sources: SourceService, shop: str) -> None:
    assert world.clock
    sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    sources.note_runs(checkout(shop), [run("complete")], {"tracker": 12})
    first = read(world)
    assert (first.items, first.error, first.synced_at) == (12, "", world.clock.now)
    world.clock.advance(hours=1)
    sources.note_runs(checkout(shop), [run("failed", "refused the key"), run("complete", source="x")], {"tracker": 12})
    failed = read(world)
    assert (failed.items, failed.error) == (12, "refused the key")
    assert failed.synced_at == world.clock.now - timedelta(hours=1)


def test_changed_settings_and_a_full_synchronisation_drop_the_mirror(
    world: ServerWorld, sources: SourceService, shop: str
) -> None:
    def settle() -> None:
        sources.note_resets(checkout(shop), sources.list_resets(checkout(shop)))
        assert sources.list_resets(checkout(shop)) == {}

    sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    assert list(sources.list_resets(checkout(shop))) == ["tracker"]
    settle()
    sources.put(shop, "tracker", {**JIRA, "jql": "", "timeout_s": 5, "token": "a new one"})
    sources.submit(shop, "tracker")
    assert sources.list_resets(checkout(shop)) == {}
    sources.put(shop, "tracker", {**JIRA, "projects": ["PAY"]})
    assert list(sources.list_resets(checkout(shop))) == ["tracker"]
    settle()
    sources.submit(shop, "tracker", full=True)
    assert list(sources.list_resets(checkout(shop))) == ["tracker"]


def test_settings_changed_while_a_job_runs_drop_the_mirror_in_the_next_one(sources: SourceService, shop: str) -> None:
    sources.put(shop, "tracker", {**JIRA, "token": TOKEN})
    resets = sources.list_resets(checkout(shop))
    sources.put(shop, "tracker", {**JIRA, "projects": ["PAY"]})
    sources.note_resets(checkout(shop), resets)
    assert list(sources.list_resets(checkout(shop))) == ["tracker"]
