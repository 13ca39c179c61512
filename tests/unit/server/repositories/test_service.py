"""Records of repositories: what may be added and changed, and what a removal leaves."""

import pytest

from coderag.errors import DuplicateNameError, IndexNotFoundError, InvalidValueError, UnknownNameError
from coderag.server.repositories import service
from coderag.server.repositories.service import RepositoryService
from coderag.server.storage.models import Job
from tests.support.server_world import ServerWorld, resolve_to

URL = "https://git.test/shop"


@pytest.fixture
def world(tmp_path):
    world = ServerWorld(tmp_path)
    yield world
    world.close()


def test_a_repository_is_added_with_its_first_job(world):
    team = world.add_team("web")
    repository = world.repositories.add("web/shop", URL, branch="main", team_id=team, interval_minutes=30)
    (job,) = world.queue.list(None)
    assert (job.repository_id, job.team_id, job.reason) == (repository.id, team, "add")
    assert [item.name for item in world.repositories.list()] == ["web/shop"]
    assert world.repositories.find("web/shop").id == world.repositories.find(repository.id).id == repository.id


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"name": "a b"}, InvalidValueError, "name 'a b' is invalid"),
        ({"name": "a" * 32}, InvalidValueError, "is invalid"),
        ({"name": "../a"}, InvalidValueError, "is invalid"),
        ({"url": "file:///etc"}, InvalidValueError, "malformed"),
        ({"url": "https://10.0.0.1/x"}, InvalidValueError, "not public"),
        ({"url": "https://a:hunter2@git.test/x"}, InvalidValueError, "password"),
        ({"url": "git@git.test:x"}, InvalidValueError, "needs a deploy key"),
        ({"branch": "--all"}, InvalidValueError, "no branch can have the name"),
        ({"branch": "a..b"}, InvalidValueError, "no branch can have the name"),
        ({"branch": "a b"}, InvalidValueError, "no branch can have the name"),
        ({"branch": "a:b"}, InvalidValueError, "no branch can have the name"),
        ({"branch": "refs/x.lock"}, InvalidValueError, "no branch can have the name"),
        ({"branch": "HEAD"}, InvalidValueError, "no branch can have the name"),
        ({"interval_minutes": 1}, InvalidValueError, "interval of 1 minutes"),
        ({"interval_minutes": -5}, InvalidValueError, "interval of -5 minutes"),
        ({"credential_id": "0" * 32}, UnknownNameError, "no such credential"),
        ({"team_id": "0" * 32}, UnknownNameError, "no such team"),
    ],
)
def test_bad_values_are_refused_when_adding_and_changing(world, changes, error, message):
    with pytest.raises(error, match=message):
        world.repositories.add(**{"name": "shop", "url": URL, **changes})
    assert world.repositories.list() == []
    assert world.queue.list(None) == []
    repository = world.repositories.add("shop", URL)
    with pytest.raises(error, match=message):
        world.repositories.update(repository.id, **changes)
    kept = world.repositories.find("shop")
    assert (kept.url, kept.branch, kept.interval_minutes, kept.team_id) == (URL, "", 0, None)


def test_names_are_unique(world):
    world.repositories.add("shop", URL)
    with pytest.raises(DuplicateNameError, match="'shop' is taken"):
        world.repositories.add("shop", "https://git.test/other")
    other = world.repositories.add("other", URL)
    with pytest.raises(DuplicateNameError, match="'shop' is taken"):
        world.repositories.update(other.id, name="shop")
    assert len(world.queue.list(None)) == 2


def test_another_url_branch_or_credential_queues_a_job_and_a_name_does_not(world):
    repository = world.repositories.add("shop", URL)
    world.queue.claim("w")
    world.repositories.update(repository.id, name="renamed", interval_minutes=10)
    assert world.queue.count()["queued"] == 0
    world.repositories.update(repository.id, branch="next")
    assert world.queue.count()["queued"] == 1
    assert world.repositories.find("renamed").branch == "next"


def test_a_new_team_takes_the_queued_job_along(world):
    team = world.add_team("web")
    repository = world.repositories.add("shop", URL)
    world.repositories.update(repository.id, team_id=team)
    assert world.queue.list(None)[0].team_id == team
    world.repositories.update(repository.id, team_id=None)
    assert world.queue.list(None)[0].team_id is None


def test_a_url_whose_host_moved_inside_is_refused_at_the_fetch(world):
    rebound = RepositoryService(
        world.database,
        world.settings.model_copy(update={"allowed_hosts": ()}),
        world.folder / "repositories",
        world.master_key,
        world.queue,
        resolve=resolve_to("127.0.0.1"),
    )
    repository = world.repositories.add("shop", URL)
    with (
        pytest.raises(InvalidValueError, match="not public"),
        rebound.open_checkout(repository.id, lambda: None, lambda progress: None),
    ):
        pass


def test_a_removal_takes_the_jobs_the_folder_and_the_name(world):
    repository = world.repositories.add("shop", URL)
    folder = world.folder / "repositories" / repository.id / "checkout"
    folder.mkdir(parents=True)
    world.repositories.remove("shop")
    assert world.repositories.list() == []
    assert not folder.parent.exists()
    with world.database.read() as session:
        assert session.query(Job).count() == 0
    world.repositories.add("shop", URL)
    with pytest.raises(UnknownNameError, match="no such repository"):
        world.repositories.remove(repository.id)


class Checkouts:
    """Checkouts that a process has open, as the workspace has them."""

    def __init__(self, *roots):
        self.roots = list(roots)

    def list_open_roots(self):
        return [*self.roots]

    def forget(self, root):
        if root in self.roots:
            self.roots.remove(root)


def test_a_removal_closes_the_checkout_in_each_process(tmp_path):
    """One process removes a repository, another one has it open and creates its folder again."""
    here, there = Checkouts(), Checkouts()
    worlds = [ServerWorld(tmp_path, open_checkouts=checkouts) for checkouts in (here, there)]
    try:
        repository = worlds[0].repositories.add("shop", URL)
        kept = worlds[0].repositories.add("blog", URL)
        folders = [tmp_path / "repositories" / found.id / "checkout" for found in (repository, kept)]
        for folder in folders:
            (folder / ".coderag").mkdir(parents=True)
        here.roots, there.roots = [*folders], [*folders]
        worlds[0].repositories.remove("shop")
        assert here.roots == folders[1:]
        assert not folders[0].parent.exists()
        folders[0].mkdir(parents=True)
        assert worlds[1].repositories.close_removed() == 1
        assert there.roots == folders[1:]
        assert not folders[0].parent.exists()
        assert folders[1].exists()
        assert worlds[1].repositories.close_removed() == 0
    finally:
        for world in worlds:
            world.close()


def test_an_interrupted_removal_is_finished_by_the_next_sweep(world, monkeypatch):
    repository = world.repositories.add("shop", URL)
    folder = world.folder / "repositories" / repository.id
    (folder / "checkout").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(service.shutil, "rmtree", lambda *_, **__: None)  # a file in it is in use
        world.repositories.remove("shop")
    assert (folder / "checkout").exists()
    assert world.repositories.sweep() == 1
    assert not folder.exists()


def test_a_checkout_is_found_once_it_was_fetched(world):
    repository = world.repositories.add("shop", URL)
    with pytest.raises(IndexNotFoundError, match="not fetched yet"):
        world.repositories.get_checkout(repository.id)
    for name in ("../../etc", "shop", "", "A" * 32):
        with pytest.raises(UnknownNameError):
            world.repositories.get_checkout(name)


def test_a_webhook_secret_is_new_each_time_and_stored_sealed(world):
    repository = world.repositories.add("shop", URL)
    secrets = {world.repositories.create_webhook_secret(repository.id) for _ in range(2)}
    assert len(secrets) == 2
    assert all(len(secret) >= 43 for secret in secrets)
    sealed = world.repositories.find("shop").sealed_webhook_secret
    assert world.master_key.open(sealed) in secrets
    with pytest.raises(UnknownNameError):
        world.repositories.create_webhook_secret("0" * 32)
