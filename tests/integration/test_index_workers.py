"""Indexing with worker processes: whatever files, signals and folders do, nothing else suffers and nobody is left over."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.errors import StorageFullError
from coderag.interfaces.error_table import INTERRUPTED, PARTIAL_INDEX
from coderag.stores.index_writer import IndexWriter
from tests.support.faulty_workers import is_running, make_workers_faulty
from tests.support.indexes import assert_same_index

CHECKOUT = Path(__file__).parents[2]
FIXTURES = CHECKOUT / "tests" / "fixtures" / "repos"
FAULTY = (
    "import coderag.ingestion.workers.worker_process as w, tests.support.faulty_workers as f; w._COMMAND = f.COMMAND"
)
COMMAND = "from coderag.interfaces.cli.main import run; run()"
NEVER_ENDS = 'return(<><n e=/*""/></>}t/b>n> '
GOOD = "def good_{0}(x):\n    return x\n"
DEADLINE_S = 60

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def start(*arguments, cwd, before="", **environment):
    """Start the command line, in a process group of its own; `before` is run in its process first."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{before}\n{COMMAND}", *arguments],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(CHECKOUT), "CODERAG_INGESTION__WORKERS": "2", **environment},
        text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def coderag(*arguments, cwd, before=""):
    process = start(*arguments, cwd=cwd, before=before)
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


def wait_for(condition):
    """Return what a condition comes to when it is true; fail if it does not become true."""
    deadline = time.monotonic() + DEADLINE_S
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    for number in range(8):
        (root / f"good{number}.py").write_text(GOOD.format(number))
    return root


@pytest.fixture
def started(tmp_path):
    """A folder in which each worker leaves its number."""
    folder = tmp_path / "started"
    folder.mkdir()
    return folder


def workers_in(started):
    return [int(path.name) for path in started.iterdir()]


def notes(root):
    return dict(CodeRAG(root).status().notes)


# Bad files


@posix
def test_a_file_that_crashes_its_worker_is_indexed_by_lines(repository):
    (repository / "bad.py").write_text("# dies\n" + GOOD)
    code, _, stderr = coderag("index", cwd=repository, before=FAULTY)
    assert (code, stderr) == (0, "")
    assert notes(repository) == {"bad.py": "parsing ended its process (SIGABRT); cut by lines"}
    names = {hit.qualified_name for hit in CodeRAG(repository).search("good", top_k=20)}
    assert {f"good_{number}" for number in range(8)} <= names


@posix
def test_a_file_that_cannot_be_indexed_at_all_is_told_and_so_is_the_exit_code(repository):
    (repository / "bad.py").write_text("# dies-always\n")
    code, stdout, _ = coderag("index", "--json", cwd=repository, before=FAULTY)
    assert code == PARTIAL_INDEX
    report = json.loads(stdout)
    assert report["files"] == {"indexed": 8, "failed": 1}
    assert report["failed"] == [["bad.py", "parsing ended its process (SIGABRT)"]]
    code, stdout, _ = coderag("index", "--json", cwd=repository)  # tried again, with workers that do not crash
    assert code == 0
    assert json.loads(stdout)["files"] == {"indexed": 9}


@posix
def test_a_file_whose_parse_never_ends_costs_no_other_anything(repository, monkeypatch):
    make_workers_faulty(monkeypatch)  # for the shorter limit of time
    (repository / "endless.tsx").write_text(NEVER_ENDS)
    report = CodeRAG(repository, ingestion={"workers": 2}).index()
    assert report.files == {"indexed": 9}
    assert notes(repository) == {"endless.tsx": "parsing took too long; cut by lines"}


# Signals


@posix
def test_a_killed_run_leaves_no_worker_behind(repository, started):
    for number in range(30):
        (repository / f"endless{number}.py").write_text("# never-ends\n")
    process = start("index", cwd=repository, before=FAULTY, WORKERS_STARTED=str(started))
    wait_for(lambda: len(workers_in(started)) >= 2)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    wait_for(lambda: not any(map(is_running, workers_in(started))))


@posix
def test_ctrl_c_ends_everything_and_leaves_the_last_generation(repository, started, tmp_path):
    assert coderag("index", cwd=repository)[0] == 0
    sign = tmp_path / "reached"
    (repository / "bad.py").write_text(f"# starts {sign}\n")
    process = start("index", cwd=repository, before=FAULTY, WORKERS_STARTED=str(started))
    wait_for(sign.exists)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == INTERRUPTED
    assert "Traceback" not in stderr
    wait_for(lambda: not any(map(is_running, workers_in(started))))
    rag = CodeRAG(repository)
    assert rag.status().generation == 1
    assert rag.status().added == ["bad.py"]
    assert rag.index().generation == 2


@posix
def test_an_error_of_the_store_ends_the_workers(repository, started, monkeypatch):
    make_workers_faulty(monkeypatch)
    monkeypatch.setenv("WORKERS_STARTED", str(started))

    def full(*_):
        raise StorageFullError("no space left")

    monkeypatch.setattr(IndexWriter, "add", full)
    with pytest.raises(StorageFullError) as caught:
        CodeRAG(repository, ingestion={"workers": 1}).index()
    assert caught.tb is not None  # whoever keeps the error keeps no workers with it
    assert workers_in(started)
    assert not any(map(is_running, workers_in(started)))


# Who calls


def test_a_script_without_the_main_idiom_may_index(repository, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom coderag import CodeRAG\n"
        "print(CodeRAG(sys.argv[1], ingestion={'workers': 2}).index().files)\n"
    )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, str(script), str(repository)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{'indexed': 8}\n"


def test_nothing_is_imported_from_the_folder_that_is_indexed(repository):
    for name in ("json", "numpy", "coderag", "orjson", "tree_sitter", "sitecustomize", "usercustomize"):
        (repository / f"{name}.py").write_text(
            f"from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\nraise ImportError('{name}')\n"
        )
    command = shutil.which("coderag", path=str(Path(sys.executable).parent))
    assert command is not None
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["CODERAG_INGESTION__WORKERS"] = "2"
    done = subprocess.run(
        [command, "index"], cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(repository.glob("*.imported")) == []


def test_repositories_may_be_indexed_at_once_in_several_threads(tmp_path):
    roots = []
    for number, languages in enumerate((("python", "go"), ("typescript", "java"), ("rust", "python"))):
        root = tmp_path / f"repo{number}"
        for language in languages:
            shutil.copytree(FIXTURES / language, root / language)
        roots.append(root)

    def index(root):
        rag = CodeRAG(root, ingestion={"workers": 2})
        return rag, rag.index()

    with ThreadPoolExecutor(len(roots)) as threads:
        done = list(threads.map(index, roots))
    for rag, report in done:
        assert report.failed == []
        clean = CodeRAG(
            rag.root, ingestion={"workers": 0}, storage={"directory": str(tmp_path / f"clean-{rag.root.name}")}
        )
        clean.index()
        assert_same_index(rag._store.open(), clean._store.open())
