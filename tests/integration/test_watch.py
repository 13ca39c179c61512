"""`CodeRAG.watch` over a real folder: each edit is in the index soon after, and only edits cause work."""

import queue
import shutil
from threading import Event, Thread

import pytest

from coderag import CodeRAG
from coderag.errors import IngestionError
from coderag.ingestion import watching
from coderag.stores.index_store import IndexStore

DEADLINE_S = 60


class Watcher:
    """Watches in a thread; reports, and the error that ended it, come by a queue."""

    def __init__(self, root):
        self.rag = CodeRAG(root, ingestion={"workers": 0})
        self.stop = Event()
        self.thread = Thread(target=self._watch, daemon=True)
        self._queue = queue.Queue()

    def _watch(self):
        try:
            for report in self.rag.watch(stop=self.stop):
                self._queue.put(report)
        except Exception as error:  # noqa: BLE001  # the test is told
            self._queue.put(error)

    def next(self):
        found = self._queue.get(timeout=DEADLINE_S)
        if isinstance(found, Exception):
            raise found
        return found

    def next_change(self):
        """Return the next report of a run that found something, and those before it that did not."""
        empty = []
        while True:
            report = self.next()
            if report.added or report.changed or report.removed or report.renamed:
                return report, empty
            empty.append(report)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "repo"
    (root / "node_modules").mkdir(parents=True)
    (root / "a.py").write_text("def first():\n    return 1\n")
    return root


@pytest.fixture
def watcher(root, monkeypatch):
    monkeypatch.setattr(watching, "_POLL_MS", 50)
    watcher = Watcher(root)
    yield watcher
    watcher.stop.set()
    if watcher.thread.ident:
        watcher.thread.join(DEADLINE_S)
        assert not watcher.thread.is_alive()


@pytest.fixture
def following(watcher):
    """The same, with the first run over and the watch begun."""
    watcher.thread.start()
    assert watcher.next().added == 1
    watcher.next()  # of what changed until the watch began
    return watcher


def test_an_edit_is_reported_and_can_be_searched(following, root):
    (root / "a.py").write_text("def renamed_function():\n    return 1\n")
    report, _ = following.next_change()
    assert report.changed == 1
    assert [hit.qualified_name for hit in CodeRAG(root).search("renamed_function")] == ["renamed_function"]


def test_what_changes_before_the_watch_begins_is_not_missed(watcher, root):
    reports = watcher.rag.watch(stop=watcher.stop)
    assert next(reports).added == 1
    (root / "b.py").write_text("def second():\n    return 2\n")
    assert next(reports).added == 1
    watcher.stop.set()
    assert list(reports) == []


def test_edits_in_ignored_folders_cause_no_run(following, root):
    for number in range(20):
        (root / "node_modules" / f"m{number}.js").write_text("x\n")
    (root / "b.py").write_text("def second():\n    return 2\n")
    report, empty = following.next_change()
    assert report.added == 1
    assert empty == []


def test_several_quick_edits_are_gathered(following, root):
    for number in range(20):
        (root / f"new{number}.py").write_text(f"def new_{number}():\n    return 1\n")
    reports = []
    while sum(report.added for report in reports) < 20:
        reports.append(following.next_change()[0])
    assert len(reports) < 10


def test_another_writer_is_waited_for(watcher, root, monkeypatch):
    tried = Event()
    when_unlocked = watching.run_when_unlocked

    def told(index, stop=None):
        def attempt():
            try:
                return index()
            finally:
                tried.set()

        return when_unlocked(attempt, stop)

    monkeypatch.setattr(watching, "run_when_unlocked", told)
    with IndexStore(root / ".coderag").open_writer():
        watcher.thread.start()
        assert tried.wait(DEADLINE_S)
    assert watcher.next().added == 1


def test_it_ends_while_waiting_for_another_writer(watcher, root):
    watcher.stop.set()
    with IndexStore(root / ".coderag").open_writer():
        watcher.thread.start()
        watcher.thread.join(DEADLINE_S)
        assert not watcher.thread.is_alive()
    with pytest.raises(queue.Empty):
        watcher._queue.get_nowait()


def test_a_deleted_repository_is_a_clear_error(following, root):
    shutil.rmtree(root)
    with pytest.raises(IngestionError, match="no such directory"):
        while True:
            following.next()
    assert not root.exists()
