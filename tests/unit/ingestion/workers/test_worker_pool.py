import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coderag.errors import IngestionError
from coderag.ingestion.files.scanner import scan
from coderag.ingestion.workers import worker_process
from coderag.ingestion.workers.jobs import FileTask, ParseJob, RunSettings
from coderag.ingestion.workers.worker_pool import WorkerPool, build_helpers, get_shared_pool
from coderag.system.process_messages import read_message, write_message
from tests.support.faulty_workers import make_workers_faulty

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
GOOD = "def good_{0}(x):\n    return x\n\n\ndef other_{0}(x):\n    return x\n"


class Runner:
    """Has the files of a folder parsed by a pool."""

    def __init__(self, root, size=2):
        self.root = root
        self.pool = WorkerPool(size)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def jobs(self, files_a_job=2):
        tasks = [FileTask(candidate) for candidate in scan(self.root).candidates]
        return [ParseJob(tasks[first : first + files_a_job]) for first in range(0, len(tasks), files_a_job)]

    def results(self, run="run", jobs=None, **settings):
        fields = {"chunking": {"min_tokens": 0}, "repository": "r", "cache_key": "", "isolated": True, **settings}
        chosen = RunSettings(run, self.root, 1_000_000, **fields)
        return self.pool.run(jobs or self.jobs(), chosen)

    def records(self, **settings):
        results = list(self.results(**settings))
        chunks = {path for result in results for path in result.columns["path"].to_pylist()}
        records = [record for result in results for record in result.records]
        assert {record.path for record in records if record.chunks} == chunks
        return {record.path: record for record in records}


@pytest.fixture
def runner(tmp_path, monkeypatch):
    make_workers_faulty(monkeypatch)
    runner = Runner(tmp_path / "repo")
    for number in range(6):
        runner.write(f"good{number}.py", GOOD.format(number))
    yield runner
    runner.pool.close()


def assert_others_whole(records):
    good = [record for path, record in records.items() if path.startswith("good")]
    assert len(good) == 6
    assert {(record.outcome, record.chunks, record.note) for record in good} == {("indexed", 2, "")}


# Files that end their worker


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        ("dies", "parsing ended its process (SIGABRT); cut by lines"),
        ("killed", "parsing ended its process (SIGKILL); cut by lines"),
        ("never-ends", "parsing took too long; cut by lines"),
        ("takes-memory", "cannot be parsed: MemoryError(); cut by lines"),
    ],
)
def test_file_that_crashes_its_worker_is_split_by_lines(runner, fault, note):
    runner.write("bad.py", f"# {fault}\n" + GOOD)
    records = runner.records()
    bad = records.pop("bad.py")
    assert (bad.outcome, bad.note) == ("indexed", note)
    assert bad.chunks > 0
    assert_others_whole(records)


def test_file_that_always_crashes_its_worker_has_failed(runner):
    runner.write("bad.py", "# dies-always\n")
    records = runner.records()
    bad = records.pop("bad.py")
    assert (bad.outcome, bad.reason, bad.chunks) == ("failed", "parsing ended its process (SIGABRT)", 0)
    assert_others_whole(records)


def test_several_bad_files_in_one_job_are_treated_separately(runner):
    for number in range(4):
        runner.write(f"bad{number}.py", "# dies\n" if number % 2 else "# dies-always\n")
    records = runner.records(jobs=runner.jobs(files_a_job=10))
    assert [records[f"bad{number}.py"].outcome for number in range(4)] == ["failed", "indexed"] * 2
    assert_others_whole(records)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_memory_limit_costs_one_file_its_syntax_tree(runner, monkeypatch):
    limits = "worker._MEMORY_HEADROOM_BYTES, worker._MEMORY_PER_FILE_BYTE = 200_000_000, 0\n"
    command = worker_process._COMMAND.replace("worker.main()", f"{limits}worker.main()")
    monkeypatch.setattr(worker_process, "_COMMAND", command)
    runner.write("Bad.java", "class A {\n" + ("a<" * 50 + "\n") * 9_800)
    records = runner.records()
    bad = records.pop("Bad.java")
    assert bad.outcome == "indexed"
    assert bad.note.endswith("cut by lines")
    assert "syntax error" not in bad.note
    assert_others_whole(records)


def test_worker_killed_externally_has_no_effect_on_results(runner, tmp_path):
    runner.write("good9.py", f"# killed-once {tmp_path / 'was-killed'}\n" + GOOD.format(9))
    records = runner.records()
    assert (tmp_path / "was-killed").exists()
    assert [record.note for record in records.values()] == [""] * 7


@pytest.mark.slow
def test_silent_worker_is_killed(runner, monkeypatch):
    monkeypatch.setattr(worker_process, "_SILENCE_TIMEOUT_S", 6.0)  # time enough to start
    runner.write("bad.py", "# waits\n")
    assert runner.records()["bad.py"].note == "parsing took too long; cut by lines"


# The pool


def test_workers_that_end_immediately_are_an_error_with_a_hint(runner, monkeypatch):
    monkeypatch.setattr(worker_process, "_COMMAND", "raise SystemExit(3)")
    with pytest.raises(IngestionError, match=r"end immediately.*exit code 3") as caught:
        runner.records()
    assert "ingestion.workers" in caught.value.hint


def test_missing_interpreter_is_an_error_with_a_hint(runner, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(IngestionError, match="no worker process can be started") as caught:
        runner.records()
    assert "ingestion.workers" in caught.value.hint


def test_internal_error_is_reported(runner, monkeypatch):
    wrong = "def wrong(*_):\n    raise ZeroDivisionError('our own fault')\njobs.compute_chunk_ids = wrong\n"
    command = worker_process._COMMAND.replace("worker.main()", f"{wrong}worker.main()")
    monkeypatch.setattr(worker_process, "_COMMAND", command)
    with pytest.raises(IngestionError, match="ZeroDivisionError: our own fault"):
        runner.records()


def test_workers_serve_one_run_after_another(runner):
    first = {result.worker.partition(":")[0] for result in runner.results(run="one")}
    second = {result.worker.partition(":")[0] for result in runner.results(run="two")}
    assert second <= first


def test_workers_that_died_while_idle_are_replaced(runner):
    for result in runner.results(run="one"):
        process = int(result.worker.partition(":")[0])
    for worker in runner.pool._idle:
        worker._process.kill()
        worker._process.wait()
    assert str(process) not in {result.worker.partition(":")[0] for result in runner.results(run="two")}


def doubled(requests, answers):
    """What a lent worker is asked to do here: double numbers until there are no more."""
    while (number := read_message(requests)) is not None:
        write_message(answers, 2 * number)


def test_lent_worker_parses_again(runner):
    runner.records()
    with runner.pool.lend(f"{__name__}:doubled") as (requests, answers):
        write_message(requests, 21)
        assert read_message(answers) == 42
        write_message(requests, None)
    idle = set(runner.pool._idle)
    assert len(idle) == 2
    assert_others_whole(runner.records(run="next"))
    assert set(runner.pool._idle) == idle


def test_worker_of_a_failed_borrower_is_stopped(runner):
    with pytest.raises(KeyboardInterrupt), runner.pool.lend(f"{__name__}:doubled") as (requests, _):
        write_message(requests, 21)
        raise KeyboardInterrupt
    assert requests.closed
    assert runner.pool._idle == []
    assert_others_whole(runner.records())


def test_worker_without_return_message_is_stopped(runner, monkeypatch):
    monkeypatch.setattr(worker_process, "_END_RUN_TIMEOUT_S", 3.0)
    with runner.pool.lend(f"{__name__}:doubled") as (requests, _):
        write_message(requests, 21)
    assert runner.pool._idle == []
    assert_others_whole(runner.records())


def test_worker_lent_for_a_missing_function_ends(runner):
    with pytest.raises(EOFError), runner.pool.lend(f"{__name__}:missing") as (_, answers):
        read_message(answers)
    assert_others_whole(runner.records())


def test_abandoned_run_stops_its_workers(runner):
    for number in range(40):
        runner.write(f"more{number}.py", GOOD)
    results = runner.results()
    next(results)
    results.close()
    assert runner.pool._idle == []
    assert len(runner.records(run="next")) == 46


def test_two_threads_can_share_a_pool(tmp_path, monkeypatch):
    make_workers_faulty(monkeypatch)
    pool = WorkerPool(2)
    runners = [Runner(tmp_path / f"repo{number}") for number in range(3)]
    for number, runner in enumerate(runners):
        runner.pool = pool
        for file in range(30):
            runner.write(f"file{file:02}.py", GOOD.format(f"{number}_{file}"))
        runner.write("file15_bad.py", "# dies\n")
    together = threading.Barrier(len(runners))

    def names(number):
        together.wait()
        terms, names_of_file, columns = {}, [], []
        for result in runners[number].results(run=f"run{number}"):
            worker_terms = terms.setdefault(result.worker, [])
            worker_terms += result.new_terms
            assert result.counts.n_terms <= len(worker_terms)
            names_of_file += [record.path for record in result.records]
            columns += result.columns["qualified_name"].to_pylist()
        return names_of_file, [name for name in columns if name.startswith("good_")]

    with ThreadPoolExecutor(len(runners)) as threads:
        results = list(threads.map(names, range(len(runners))))
    for number, (paths, names_of_file) in enumerate(results):
        assert paths == sorted([*(f"file{file:02}.py" for file in range(30)), "file15_bad.py"])
        assert names_of_file == [f"good_{number}_{file}" for file in range(30)]
    pool.close()


def test_run_that_fails_leaves_the_runs_of_other_threads_alone(runner):
    for number in range(40):
        runner.write(f"more{number:02}.py", GOOD)
    going_on = runner.results(run="one")
    first = next(going_on)
    given_up = runner.results(run="two")
    next(given_up)
    given_up.close()
    runner.pool.close()
    assert sum(len(result.records) for result in (first, *going_on)) == 46


def test_helpers_are_the_configured_workers_less_this_process():
    assert build_helpers(0) is None
    assert build_helpers(1) is None
    assert build_helpers(3).max_processes == 2


def test_pool_is_shared_within_the_process():
    assert get_shared_pool(3) is get_shared_pool(3)
    assert get_shared_pool(3) is not get_shared_pool(2)


@pytest.mark.filterwarnings("ignore:lance is not fork-safe")
def test_fork_has_its_own_workers(runner):
    list(runner.results())
    pool = get_shared_pool(2)
    child = os.fork()
    if not child:
        runner.pool.close()
        os._exit(get_shared_pool(2) is pool)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert all(worker.is_alive for worker in runner.pool._idle)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="tells what files a process has open on Linux")
def test_idle_workers_have_no_open_repository_files(runner):
    results = list(runner.results(cache=runner.root / "cache"))
    assert (runner.root / "cache").exists()
    for process in {result.worker.partition(":")[0] for result in results}:
        opened = [str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()]
        assert opened
        assert not [path for path in opened if path.startswith(str(runner.root))]
