import sys

import pytest

from coderag.errors import IngestionError, ModelUnavailableError
from coderag.schema.indexing import IndexProgress
from coderag.workspace import writer_process
from coderag.workspace.writer_messages import IndexTask
from coderag.workspace.writer_process import IndexingLoop
from tests.support.workspaces import REPORT


class FakeIndexer:
    def __init__(self, runs, progress):
        self._runs = runs
        self._progress = progress
        self.last_scan = "a walk's result"

    def run(self, *, full, since=None):
        self._runs.append((full, since))
        for done in range(100):
            self._progress(IndexProgress("chunk", done, 100))
        self._progress(IndexProgress("commit", 1, 1))
        if isinstance(REPORT_OR_ERROR[-1], Exception):
            raise REPORT_OR_ERROR[-1]
        return REPORT_OR_ERROR[-1]


REPORT_OR_ERROR = [REPORT]


class FakeEngine:
    history = "its history"

    def __init__(self, runs):
        self._runs = runs

    def make_indexer(self, progress):
        return FakeIndexer(self._runs, progress)

    def publish_run(self, run):
        return run()


@pytest.fixture
def opened():
    return []


@pytest.fixture
def runs():
    return []


@pytest.fixture
def replies():
    return []


@pytest.fixture
def loop(monkeypatch, opened, runs, replies):
    def open_engine(root, *, trusted):
        opened.append((root, trusted))
        return FakeEngine(runs)

    monkeypatch.setattr(writer_process, "open_engine", open_engine)
    monkeypatch.setattr(sys.modules[__name__], "REPORT_OR_ERROR", [REPORT])
    return IndexingLoop(replies.append)


def test_history_of_an_indexed_repository_is_read_next(loop, replies):
    histories = []
    loop = IndexingLoop(replies.append, histories.append)
    loop.run_task(IndexTask("/repo", trusted=True))
    assert histories == ["its history"]


def test_the_report_is_the_last_reply(loop, replies):
    loop.run_task(IndexTask("/repo", trusted=True))
    assert replies[-1] == REPORT


def test_progress_is_told_now_and_then_and_at_every_new_stage(loop, replies):
    loop.run_task(IndexTask("/repo", trusted=True))
    stages = [reply.stage for reply in replies[:-1]]
    assert stages[0] == "chunk"
    assert stages[-1] == "commit"
    assert len(stages) < 50


def test_a_repository_is_opened_once_as_long_as_its_settings_are_the_same(loop, opened, tmp_path):
    task = IndexTask(str(tmp_path), trusted=False)
    loop.run_task(task)
    loop.run_task(task)
    (tmp_path / ".coderag.yaml").write_text("version: 1\n")
    loop.run_task(task)
    loop.run_task(IndexTask(str(tmp_path), trusted=True))
    assert opened == [(tmp_path, False), (tmp_path, False), (tmp_path, True)]


def test_after_a_walk_known_edits_need_no_other_one(loop, runs):
    loop.run_task(IndexTask("/repo", trusted=True, edited=["a.py"]))
    loop.run_task(IndexTask("/repo", trusted=True, edited=["b.py"]))
    loop.run_task(IndexTask("/repo", trusted=True))
    loop.run_task(IndexTask("/repo", trusted=True, full=True, edited=["b.py"]))
    assert runs == [(False, None), (False, ("a walk's result", ["b.py"])), (False, None), (True, None)]


def test_after_a_failed_run_there_is_a_walk(loop, runs):
    loop.run_task(IndexTask("/repo", trusted=True))
    REPORT_OR_ERROR.append(ModelUnavailableError("no answer"))
    loop.run_task(IndexTask("/repo", trusted=True, edited=["a.py"]))
    REPORT_OR_ERROR.append(REPORT)
    loop.run_task(IndexTask("/repo", trusted=True, edited=["a.py"]))
    assert [since is None for _, since in runs] == [True, False, True]


def test_an_error_of_ours_is_the_reply(loop, replies):
    REPORT_OR_ERROR.append(ModelUnavailableError("no answer"))
    loop.run_task(IndexTask("/repo", trusted=True))
    assert replies[-1] is REPORT_OR_ERROR[-1]


def test_a_fault_is_told_as_an_error_and_does_not_end_the_process(loop, replies):
    REPORT_OR_ERROR.append(KeyError("a fault"))
    loop.run_task(IndexTask("/repo", trusted=True))
    assert isinstance(replies[-1], IngestionError)
    assert "KeyError" in str(replies[-1])
