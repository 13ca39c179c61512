"""`coderag index` killed at any moment leaves a complete generation, and the next run goes on from it."""

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from coderag import CodeRAG
from tests.support.programs import edges_of

CHECKOUT = Path(__file__).parents[2]
KILLS = 9
FILES = 30
FUNCTIONS = 8  # a file

# The nursery imports everything once (that takes seconds) and forks a command line for each line that it is sent, so
# that kills hit the run and not the imports. It says "dead" when the command line has ended, however it did.
NURSERY = """
import os, sys
import coderag.app, coderag.graphs.query, coderag.ingestion.indexer, coderag.interfaces.cli.indexed_engine
import coderag.codegraph.graph_table_builder, coderag.codegraph.code_graph_builder, coderag.codegraph.linking.linker
import coderag.interfaces.cli.output.report, filelock, lance, lance.fragment, pyarrow.compute, tree_sitter_language_pack
from coderag.interfaces.cli.main import run
for line in sys.stdin:
    if child := os.fork():
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print("dead", os.waitstatus_to_exitcode(status), flush=True)
    else:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):
            os.dup2(null, stream)
        sys.argv = ["coderag", "index", *line.split()]
        run()
"""


def paths_of(version):
    """Return the files of a version of the repository: some stay, some come and go, some are renamed."""
    stay = [f"pkg/stay{number}.py" for number in range(FILES // 3)]
    come_and_go = [f"pkg/some{number}.py" for number in range(FILES // 3) if (number + version) % 2]
    renamed = [f"pkg/v{version}/renamed{number}.py" for number in range(FILES // 3)]
    return [*stay, *come_and_go, *renamed]


def text_of(path, version):
    functions = (
        f"def step_{version}_{number}(item):\n    return prepare(item, {version})\n\n\n" for number in range(FUNCTIONS)
    )
    prepare = "def prepare(item, version):\n    return item\n\n\n"
    return f"# marker of version {version} in {path}\n{prepare}{''.join(functions)}"


def write_version(root, version):
    wanted = paths_of(version)
    for old in root.rglob("*.py"):
        if old.relative_to(root).as_posix() not in wanted:
            old.unlink()
    for path in wanted:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text_of(path, version))


def versions_in(text):
    return {int(part.split("_")[0]) for part in text.split("def step_")[1:]}


def version_of(root):
    """Return which version the index has: whole, and no other."""
    rag = CodeRAG(root, search={"max_per_file": 100, "top_k": 200})
    snapshot = rag._store.open()
    (version,) = {number for text in snapshot.read_texts(range(len(snapshot))) for number in versions_in(text)}
    shown = {number for hit in rag.search("prepare the item of a step marker") for number in versions_in(hit.text)}
    assert len(shown) == 1, f"results of versions {shown}"  # of the index, or of the files where they were edited since
    texts = Counter()
    for path, text in zip(
        snapshot.read_chunks(["path"])["path"].to_pylist(), snapshot.read_texts(range(len(snapshot))), strict=True
    ):
        texts[path] += text.count(f"def step_{version}_")
        assert text.count("def step_") == text.count(f"def step_{version}_")
    assert texts == Counter(dict.fromkeys(paths_of(version), FUNCTIONS))
    assert [record.path for record in snapshot.read_files()] == sorted(paths_of(version))
    assert len(snapshot.read_vectors()) == len(snapshot.read_counts()) == len(snapshot)
    calls = Counter(edge[:3] for edge in edges_of(snapshot.read_graph()))
    steps = [(path, f"{path}:step_{version}_{number}") for path in paths_of(version) for number in range(FUNCTIONS)]
    assert calls == Counter((step, "calls", f"{path}:prepare") for path, step in steps)
    assert snapshot.read_facts()["path"].to_pylist() == sorted(paths_of(version))
    return version


class Nursery:
    def __init__(self, process):
        self.process = process

    def line(self):
        return self.process.stdout.readline().split()

    def run(self, root, kill_after_s=None):
        """Run `coderag index` in a repository, perhaps not to its end; return its exit code."""
        self.process.stdin.write(f"-C {root}\n")
        self.process.stdin.flush()
        child = int(self.line()[0])
        if kill_after_s is not None:
            ended, _, _ = select.select([self.process.stdout], [], [], kill_after_s)
            if not ended:
                os.kill(child, signal.SIGKILL)
        word, code = self.line()
        assert word == "dead"
        return int(code)


@pytest.fixture(scope="module")
def nursery():
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore:lance is not fork-safe", "-c", NURSERY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with process:
        yield Nursery(process)
        process.stdin.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_an_index_killed_at_any_moment_is_the_old_one_or_the_new_one(tmp_path, nursery):
    root = tmp_path / "repo"
    write_version(root, 0)
    assert nursery.run(root) == 0
    write_version(root, 1)
    began = time.perf_counter()
    assert nursery.run(root) == 0
    whole_run_s = time.perf_counter() - began
    assert version_of(root) == 1

    rng, version, indexed, killed, new = random.Random(11), 1, 1, 0, 0
    while killed < KILLS:
        version += 1
        assert version < 10 * KILLS, "hardly a run was killed before its end"
        write_version(root, version)
        code = nursery.run(root, kill_after_s=rng.uniform(0.02, 1) * whole_run_s)
        found = version_of(root)
        if code == 0:
            assert found == version
        else:
            assert code == -signal.SIGKILL
            assert found in (indexed, version)
            killed += 1
        indexed = found
        new += found == version
        if killed % 4 == 0:  # the next run goes on from whatever was left
            assert nursery.run(root) == 0
            indexed = version_of(root)
            assert indexed == version
    assert new < version - 1, "no run was killed before its commit"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_first_run_killed_leaves_no_index_or_a_whole_one(tmp_path, nursery):
    rng = random.Random(5)
    for attempt in range(4):
        root = tmp_path / f"repo{attempt}"
        write_version(root, 0)
        nursery.run(root, kill_after_s=rng.uniform(0.02, 0.5))
        if CodeRAG(root)._store.read_pointer() is not None:
            assert version_of(root) == 0
        assert nursery.run(root) == 0
        assert version_of(root) == 0
