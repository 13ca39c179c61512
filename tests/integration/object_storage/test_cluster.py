"""Many repositories are indexed into one store: by processes that may die, by Ray, and again where a run was stopped."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from coderag import CodeRAG
from coderag.cluster.checkout import resolve_commit
from coderag.cluster.cluster_run import ClusterOptions, ClusterRun
from coderag.cluster.runners import LocalRunner
from coderag.errors import GitFetchError, GitUnavailableError
from coderag.schema.cluster import ClusterRepository, RepositoryResult
from evals.service.processes import list_descendants
from tests.support.git_http_server import GitHttpServer
from tests.support.git_origins import GitOrigin
from tests.support.object_store import make_settings

REPOSITORIES = int(os.environ.get("CODERAG_TEST_REPOSITORIES", "4"))
KILLS = int(os.environ.get("CODERAG_TEST_KILLS", "1"))


@pytest.fixture(scope="module")
def origins(tmp_path_factory):
    """Serve repositories, each with a word of its own."""
    folder = tmp_path_factory.mktemp("origins")
    with GitHttpServer(folder) as server:
        made = {}
        for number in range(REPOSITORIES):
            origin = GitOrigin(folder, f"repo{number}.git")
            origin.commit(write_code(number))
            made[f"repo{number}"] = origin
        yield SimpleNamespace(server=server, by_name=made)


@pytest.fixture
def storage(endpoint, prefix):
    section = make_settings(endpoint, prefix)
    return section.model_dump(exclude_unset=True) | {"secret_access_key": section.secret_access_key.get_secret_value()}


def write_code(number, word="settle"):
    return {
        f"shop/part{number}.py": f"def {word}_{number}(order):\n    return price_{number}(order)\n\n\n"
        f"def price_{number}(order):\n    return order.total * {number}\n",
        "README.md": f"# Repository {number}\n",
    }


def list_repositories(origins):
    return [ClusterRepository(name, origins.server.url(f"{name}.git")) for name in origins.by_name]


def run_all(origins, storage, work, *, processes=2, runner=None, repositories=None, **options):
    runner = runner or LocalRunner(processes)
    listed = repositories or list_repositories(origins)
    try:
        return ClusterRun(listed, storage, ClusterOptions(work, **options)).run(runner)
    finally:
        runner.close()


def read_published(storage, name, folder):
    """Return what another machine finds in the published index of a repository, but for numbers and times."""
    folder.mkdir(parents=True, exist_ok=True)
    with CodeRAG(folder, project=name, storage=storage) as rag:
        return read_generation(rag)


def index_on_one_machine(origins, name, folder):
    """Return what `coderag index` makes of a clone."""
    GitOrigin.git(folder.parent, "clone", "--quiet", str(origins.by_name[name].bare), str(folder))
    with CodeRAG(folder, project=name) as rag:
        rag.index()
        return read_generation(rag)


def read_generation(rag):
    """Return what an index has, but for numbers and times."""
    snapshot = rag._open_index.open_generation()
    chunks, graph = snapshot.read_chunks().to_pylist(), snapshot.read_graph()
    vectors = snapshot.read_vectors().tolist()
    return chunks, graph.nodes.to_pylist(), graph.edges.to_pylist(), vectors, snapshot.read_terms()


def test_all_are_published_as_one_machine_would(origins, storage, tmp_path):
    report = run_all(origins, storage, tmp_path / "work")
    assert [(result.name, result.state) for result in report.results] == [(name, "indexed") for name in origins.by_name]
    assert {result.commit for result in report.results} == {
        GitOrigin.git(origin.work, "rev-parse", "HEAD") for origin in origins.by_name.values()
    }
    for name in list(origins.by_name)[:2]:
        published = read_published(storage, name, tmp_path / "reader" / name)
        assert published == index_on_one_machine(origins, name, tmp_path / f"own-{name}")


def test_a_second_run_fetches_nothing_and_a_push_is_indexed(origins, storage, tmp_path):
    run_all(origins, storage, tmp_path / "work")
    again = run_all(origins, storage, tmp_path / "other")
    assert {result.state for result in again.results} == {"unchanged"}
    assert not (tmp_path / "other").exists()
    commit = origins.by_name["repo1"].commit(write_code(1, word="added"))
    plan = ClusterRun(list_repositories(origins), storage, ClusterOptions(tmp_path / "work")).plan(2, hour_price=36.0)
    assert (plan.repositories, plan.unchanged, plan.known, plan.new) == (REPOSITORIES, REPOSITORIES - 1, 1, 0)
    assert plan.price == pytest.approx(plan.seconds / 100, abs=0.01)
    changed = run_all(origins, storage, tmp_path / "other")
    assert [(result.name, result.commit) for result in changed.results if result.state == "indexed"] == [
        ("repo1", commit)
    ]
    chunks, *_ = read_published(storage, "repo1", tmp_path / "reader")
    assert "added_1" in {chunk["name"] for chunk in chunks}


@pytest.mark.slow
def test_killed_processes_lose_nothing(origins, storage, tmp_path):
    chance, is_over = random.Random(5), threading.Event()
    killed = []

    def kill_some():
        while len(killed) < KILLS and not is_over.wait(chance.uniform(0.5, 2.5)):
            workers = [pid for pid in list_descendants(os.getpid()) if is_task_process(pid)]
            if workers:
                killed.append(chance.choice(workers))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill_some)
    thread.start()
    try:
        report = run_all(origins, storage, tmp_path / "work", attempts=20)
    finally:
        is_over.set()
        thread.join()
    assert {result.state for result in report.results} <= {"indexed", "unchanged"}
    for name in origins.by_name:
        chunks, *_ = read_published(storage, name, tmp_path / "reader" / name)
        assert chunks, name


def is_task_process(pid):
    """Return whether a process is one of the runner's, and no git or parser."""
    try:
        return b"multiprocessing.spawn" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_failures_are_listed_and_the_others_are_published(origins, storage, tmp_path):
    repositories = [
        ClusterRepository("gone", origins.server.url("gone.git")),
        ClusterRepository("old", origins.server.url("repo0.git"), "no-such-branch"),
        ClusterRepository("away", "http://127.0.0.1:9/shop.git"),
        ClusterRepository("repo0", origins.server.url("repo0.git"), "main"),
    ]
    report = run_all(origins, storage, tmp_path / "work", repositories=repositories, attempts=2)
    gone, old, away, good = report.results
    assert (gone.state, gone.attempts) == ("failed", 1)
    assert "no-such-branch" in old.error
    assert (away.state, away.attempts, away.is_retryable) == ("failed", 2, True)
    assert good.state == "indexed"


def test_a_folder_is_indexed_as_it_is(origins, storage, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "a.py").write_text("def first():\n    pass\n")
    repositories = [ClusterRepository("own", str(folder))]
    assert run_all(origins, storage, tmp_path / "work", repositories=repositories).results[0].state == "indexed"
    assert run_all(origins, storage, tmp_path / "work", repositories=repositories).results[0].state == "unchanged"
    (folder / "a.py").write_text("def second():\n    pass\n")
    run_all(origins, storage, tmp_path / "work", repositories=repositories)
    chunks, *_ = read_published(storage, "own", tmp_path / "reader")
    assert {chunk["name"] for chunk in chunks} == {"second"}
    assert not (tmp_path / "work").exists()


def test_work_is_discarded_when_asked_to(origins, storage, tmp_path):
    run_all(origins, storage, tmp_path / "work", repositories=list_repositories(origins)[:1], keeps_work=False)
    assert list((tmp_path / "work").iterdir()) == []


def test_a_checkout_that_was_half_fetched_is_completed(origins, storage, tmp_path):
    repository = list_repositories(origins)[0]
    half = tmp_path / "work" / repository.name / "checkout"
    (half / ".git").mkdir(parents=True)
    (half / ".git" / "index.lock").write_text("")
    (half / "stale.py").write_text("def stale():\n    pass\n")
    [result] = run_all(origins, storage, tmp_path / "work", repositories=[repository]).results
    assert result.state == "indexed", result.error
    chunks, *_ = read_published(storage, repository.name, tmp_path / "reader")
    assert "stale" not in {chunk["name"] for chunk in chunks}


def test_revisions_are_branches_tags_and_commits(origins):
    origin, url = origins.by_name["repo2"], origins.server.url("repo2.git")
    head = GitOrigin.git(origin.work, "rev-parse", "HEAD")
    GitOrigin.git(origin.work, "tag", "-a", "v1", "-m", "first")
    GitOrigin.git(origin.work, "push", "--quiet", "origin", "v1")
    assert {resolve_commit(ClusterRepository("r", url, revision)) for revision in ("", "main", "v1", head)} == {head}
    with pytest.raises(GitFetchError):
        resolve_commit(ClusterRepository("r", url, "nothing"))
    with pytest.raises(GitUnavailableError):
        resolve_commit(ClusterRepository("r", "http://127.0.0.1:9/x.git"))


def test_attempts_wait_until_the_others_have_had_theirs(storage, tmp_path):
    """What was in the way may have gone by then."""

    class Runner:
        capacity = 1

        def __init__(self):
            self.seen = []

        def submit(self, task):
            self.seen.append(task)

        def wait(self):
            task = self.seen[-1]
            is_first = task.repository.name == "one" and len(self.seen) == 1
            state = "failed" if is_first else "indexed"
            return [(task, RepositoryResult(task.repository.name, state, error="busy", is_retryable=True))]

        def close(self):
            """Nothing runs."""

    runner = Runner()
    repositories = [ClusterRepository(name, f"https://example.org/{name}.git") for name in ("one", "two")]
    report = run_all(None, storage, tmp_path, runner=runner, repositories=repositories)
    assert [task.repository.name for task in runner.seen] == ["one", "two", "one"]
    assert [(result.name, result.state, result.attempts) for result in report.results] == [
        ("one", "indexed", 2),
        ("two", "indexed", 1),
    ]


def run_command(storage, *arguments):
    """Run `coderag cluster index`; the settings of the store come from the environment."""
    variables = {f"CODERAG_STORAGE__{name.upper()}": str(value) for name, value in storage.items() if name != "url"}
    program = Path(sys.executable).with_name("coderag")
    command = [program, "cluster", "index", *arguments, "--storage", storage["url"], "--json"]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)


@pytest.fixture
def list_file(origins, tmp_path):
    path = tmp_path / "repositories.txt"
    path.write_text("# all of them\n" + "\n".join(each.address for each in list_repositories(origins)))
    return path


@pytest.mark.slow
def test_ray_publishes_the_same(origins, storage, list_file, tmp_path):
    pytest.importorskip("ray", reason="needs the extra ray")
    done = run_command(storage, str(list_file), "--ray", "local", "--cpus", "1", "--work", str(tmp_path / "work"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [(result["name"], result["state"]) for result in report["results"]] == [
        (name, "indexed") for name in origins.by_name
    ]
    published = read_published(storage, "repo0", tmp_path / "reader" / "repo0")
    assert published == index_on_one_machine(origins, "repo0", tmp_path / "own")


def test_a_ray_cluster_that_does_not_answer_is_told_at_once(storage, list_file):
    pytest.importorskip("ray", reason="needs the extra ray")
    done = run_command(storage, str(list_file), "--ray", "127.0.0.1:9")
    assert done.returncode == 3, done.stderr
    assert "the Ray cluster 127.0.0.1:9 does not answer" in done.stderr


def test_the_command_plans_indexes_and_tells_what_failed(origins, storage, list_file, tmp_path):
    work = ("--work", str(tmp_path / "work"))
    planned = json.loads(run_command(storage, str(list_file), *work, "--plan").stdout)
    assert (planned["repositories"], planned["new"], planned["unchanged"]) == (REPOSITORIES, REPOSITORIES, 0)
    assert planned["seconds"] > 0
    list_file.write_text(f"{origins.server.url('repo0.git')}\n{origins.server.url('gone.git')}\n")
    done = run_command(storage, str(list_file), *work, "--processes", "1")
    states = {result["name"]: result["state"] for result in json.loads(done.stdout)["results"]}
    assert (done.returncode, states) == (5, {"repo0": "indexed", "gone": "failed"})
