"""The writer process killed at random points of indexing: the index is always a whole one, and the next job works.

``WORKSPACE_KILLS=100 pytest tests/integration/test_workspace_kills.py`` does it more often.
"""

import os
import random
import threading

import pytest

from coderag.app import CodeRAG
from coderag.workspace.registry import Registry
from coderag.workspace.workspace import Workspace, WorkspaceOptions

KILLS = int(os.environ.get("WORKSPACE_KILLS", "3"))
LONG_S = 120.0
FILES = 40


def write_version(root, version):
    for number in range(FILES):
        steps = "".join(f"def step_{version}_{step}(item):\n    return item\n\n\n" for step in range(10))
        (root / f"module{number}.py").write_text(f"# version {version} of module {number}\n{steps}")


def version_of(root):
    """Return which version the index has: of all files the same, and the whole of each."""
    snapshot = CodeRAG(root)._store.open()
    text = "".join(snapshot.read_texts(range(len(snapshot))))
    found = {line.split("_")[1] for line in text.split("\n") if line.startswith("def step_")}
    assert len(found) == 1, f"versions {found}"
    (version,) = found
    assert text.count(f"def step_{version}_") == 10 * FILES
    assert len(snapshot.read_files()) == FILES
    assert len(snapshot.read_vectors()) == len(snapshot.read_counts()) == len(snapshot)
    return int(version)


def run_and_kill(workspace, job, after_s):
    """Return how a job ended whose writer was killed so long after it had begun."""
    timers = []

    def begin(view):
        if view.progress and not timers:
            timers.append(threading.Timer(after_s, workspace._queue.writer.kill))
            timers[0].start()

    stop = job.watch(begin)
    state = job.wait(LONG_S).state
    stop()
    for timer in timers:
        timer.cancel()
        timer.join()
    return state


@pytest.mark.slow
def test_an_index_whose_writer_is_killed_at_any_moment_is_the_old_one_or_the_new_one(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    write_version(root, 0)
    rng, version, killed, last = random.Random(7), 0, 0, 0
    options = WorkspaceOptions(watch=False)
    with Workspace(options, registry=Registry(tmp_path / "repositories.json")) as workspace:
        one = workspace.open_repository(root)
        assert one.index().wait(LONG_S).state == "done"
        while killed < KILLS:
            version += 1
            assert version < 20 * KILLS, "hardly a run was killed before its end"
            write_version(root, version)
            state = run_and_kill(workspace, one.index(), rng.uniform(0, 0.4))
            found = version_of(root)
            assert found == version if state == "done" else found in (last, version)
            killed += state == "failed"
            last = found
        assert one.index().wait(LONG_S).state == "done"
        assert version_of(root) == version
        assert one.engine.search(f"step {version}")
