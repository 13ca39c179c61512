"""A workspace with its real writer process, over real repositories."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from coderag.app import CodeRAG
from coderag.errors import ConfigurationError, IngestionError
from coderag.workspace.registry import Registry
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from evals.service.processes import is_running
from evals.service.server import list_family
from tests.support.workspaces import eventually

CHECKOUT = Path(__file__).parents[2]
LONG_S = 120.0
MODULE = """def {name}_total(items):
    return sum(items)


def {name}_first(items):
    return {name}_total(items[:1])
"""


def write_module(root, name):
    (root / f"{name}.py").write_text(MODULE.format(name=name))


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("apples", "pears"):
        write_module(folder, name)
    return folder


@pytest.fixture
def start(tmp_path):
    made = []

    def make(**options):
        made.append(Workspace(WorkspaceOptions(**options), registry=Registry(tmp_path / "repositories.json")))
        return made[-1]

    yield make
    for workspace in made:
        workspace.close()


def done(job):
    view = job.wait(LONG_S)
    assert view.state == "done", view
    return view.report


def names(engine, query):
    return {hit.path.stem for hit in engine.search(query, top_k=100)}


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def at_stage(job, stage, act):
    """Act once, in the middle of the run, when it gets to a stage."""
    once = threading.Event()

    def look(view):
        if view.progress and view.progress.stage == stage and not once.is_set():
            once.set()
            act()

    job.watch(look)


@pytest.mark.slow
@needs_proc
def test_an_index_is_made_brought_up_to_date_and_searched(start, root):
    before = set(threading.enumerate())
    workspace = start(watch=False)
    one = workspace.open_repository(root)
    assert not one.is_indexed
    assert one.find_preview_hits("total of apples", 5)[0].path.stem == "apples"
    first = done(one.index())
    assert first.files == {"indexed": 2}
    assert one.is_indexed
    assert "apples" in names(one.engine, "apples total")

    with CodeRAG(root)._store.open_writer():  # as another process would
        write_module(root, "plums")
        job = one.index()
        eventually(lambda: "is being written" in job.view.error)
        assert job.view.state == "queued"
    assert done(job).added == 1
    assert "plums" in names(one.engine, "plums total")

    (root / ".coderag.yaml").write_text("serch:\n  top_k: 3\n")  # the settings of the moment hold
    job = one.index()
    assert job.wait(LONG_S).state == "failed"
    assert isinstance(job.error, ConfigurationError)
    assert ".coderag.yaml, line 1" in job.view.error
    (root / ".coderag.yaml").unlink()
    assert done(one.index(full=True)).files == {"indexed": 3}

    processes = list_family(workspace._queue.writer.pid)
    workspace.close()
    eventually(lambda: not any(map(is_running, processes)))
    eventually(lambda: set(threading.enumerate()) <= before)  # one that opened the index may be about to end


@pytest.mark.slow
def test_a_crash_of_the_writer_is_told_and_the_next_job_has_another_one(start, root):
    workspace = start(watch=False)
    one = workspace.open_repository(root)
    done(one.index())
    old = workspace._queue.writer
    write_module(root, "plums")
    job = one.index()
    at_stage(job, "scan", old.kill)
    view = job.wait(LONG_S)
    assert view.state == "failed"
    assert isinstance(job.error, IngestionError)
    assert ("SIGKILL" if os.name == "posix" else "exit code") in view.error
    assert view.hint
    assert "apples" in names(one.engine, "apples total")
    assert done(one.index()).added == 1
    assert workspace._queue.writer.pid != old.pid


@pytest.mark.slow
@needs_proc
def test_cancelling_ends_the_writer_and_its_workers_and_keeps_the_index(start, root):
    workspace = start(watch=False)
    one = workspace.open_repository(root)
    done(one.index())
    processes = list_family(workspace._queue.writer.pid)
    write_module(root, "plums")
    job = one.index(full=True)
    at_stage(job, "chunk", job.cancel)
    assert job.wait(LONG_S).state == "cancelled"
    eventually(lambda: not any(map(is_running, processes)))
    assert "apples" in names(one.engine, "apples total")


SERVICE = """
import sys, threading
from coderag.workspace.workspace import Workspace
workspace = Workspace()
job = workspace.open_repository(sys.argv[1]).index()
indexing = threading.Event()
job.watch(lambda view: view.progress and view.progress.stage == sys.argv[2] and indexing.set())
indexing.wait(100)
print(workspace._queue.writer.pid, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def service(root):
    """Run a program that indexes a repository and waits for a line, from some stage of that on."""
    running = []

    def make(stage):
        environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        running.append(subprocess.Popen([sys.executable, "-c", SERVICE, str(root), stage], env=environment, **pipes))
        return running[-1]

    yield make
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.slow
@needs_proc
def test_a_service_that_is_killed_leaves_no_process_and_a_sound_index(root, service):
    for number in range(300):
        write_module(root, f"fruit{number}")
    process = service("scan")
    processes = list_family(int(process.stdout.readline()))
    process.kill()
    eventually(lambda: not any(map(is_running, processes)))
    assert CodeRAG(root).index().files == {"indexed": 302}


@pytest.mark.slow
@needs_proc
def test_a_program_that_forgets_to_close_ends_all_the_same(service):
    process = service("commit")
    processes = list_family(int(process.stdout.readline()))
    process.communicate("go on\n", timeout=LONG_S)
    assert process.returncode == 0
    eventually(lambda: not any(map(is_running, processes)))


@pytest.mark.slow
def test_searches_go_on_while_files_are_edited_and_indexed(start, root):
    workspace = start()
    one = workspace.open_repository(root)
    done(one.index())
    stop, faults, asked = threading.Event(), [], []

    def search():
        try:
            while not stop.is_set():
                asked.append(len(workspace.open_repository(root).engine.search("apples total")))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is none that a search may raise
            faults.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(6):
        write_module(root, f"new{number}")
        (root / "pears.py").write_text(f"# edition {number}\n" + MODULE.format(name="pears"))
        done(one.index(full=number % 4 == 3))
    stop.set()
    for thread in threads:
        thread.join(LONG_S)
    assert not faults
    assert asked
    assert min(asked) > 0
    assert "new5" in names(one.engine, "new5 total")


@pytest.mark.slow
def list_reports(workspace):
    """Return the reports of the runs that changed an index, in order."""
    reports = [job.view.report for job in reversed(workspace.list_jobs())]
    return [report for report in reports if report and (report.added or report.removed)]


def test_a_branch_that_is_switched_is_indexed_once_and_by_itself(start, root):
    workspace = start()
    one = workspace.open_repository(root)
    done(one.index())
    events = []
    workspace.listen(lambda event: events.append(event.kind))
    first = one.job
    for number in range(300):
        write_module(root, f"branch{number}")
    eventually(lambda: "edited" in events)
    eventually(lambda: one.job is not first and one.job.view.state == "done")
    eventually(lambda: sum(report.added for report in list_reports(workspace)[1:]) == 300)
    eventually(lambda: "generation" in events)
    second = one.job
    (root / "branch7.py").unlink()  # and one file more does not take a walk
    eventually(lambda: one.job is not second and one.job.view.state == "done")
    eventually(lambda: list_reports(workspace)[-1].removed == 1)
    assert len(list_reports(workspace)) == 3  # on a busy machine a further run may find nothing to do
