"""Views of new generations: computed ahead of the next visit, when it is quiet, one at a time."""

import threading
import time

import pytest

from coderag import CodeRAG
from coderag.retrieval.projection.projection import FILE_NAME as MAP
from coderag.stores.view_files import ViewFiles
from coderag.workspace import view_refresher, view_worker
from coderag.workspace.view_process import GRAPH, PROJECTION, store_projection
from coderag.workspace.view_refresher import ViewRefresher, list_outdated_views
from coderag.workspace.view_worker import ViewEnd, ViewTask, ViewWorker
from tests.support.shop import write_shop

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def rag(tmp_path, monkeypatch):
    """A repository with views of its first generation, and a second generation without."""
    monkeypatch.setattr(view_refresher, "MIN_CHUNKS", 0)
    engine = CodeRAG(write_shop(tmp_path / "shop"))
    engine.index()
    store_projection(engine.open_generation(), "pca")
    engine.build_graph_overview(max_nodes=17)
    add_file(engine, "first")
    return engine


@pytest.fixture
def views():
    """A worker with a refresher of no delay, and the ends of its tasks."""
    ends: list[ViewEnd] = []
    ended = threading.Condition()

    def note(end):
        refresher.note_end(end)
        with ended:
            ends.append(end)
            ended.notify_all()

    def wait(count=1):
        with ended:
            assert ended.wait_for(lambda: len(ends) >= count, timeout=60)
        return ends

    worker = ViewWorker(note)
    refresher = ViewRefresher(worker, lambda root: False, quiet_s=0.01)
    yield worker, refresher, wait
    refresher.close()
    worker.close()


def add_file(engine, name):
    (engine.root / f"{name}.py").write_text(f"def pack_{name}(box):\n    return box\n")
    engine.index()


def wait_for_start(worker, key):
    deadline = time.monotonic() + 30
    while worker.find(key, PROJECTION) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def get_key(engine):
    snapshot = engine.open_generation()
    return str(snapshot.directory), snapshot.pointer.identity


def test_views_that_were_visited_are_there_before_the_next_visit(rag, views):
    _, refresher, wait = views
    assert list_outdated_views(rag.open_generation()) == [GRAPH, PROJECTION]
    refresher.note_generation(str(rag.root), rag)
    (end,) = wait()
    assert (end.error, end.is_cancelled) == (None, False)
    assert list_outdated_views(rag.open_generation()) == []
    snapshot = rag.open_generation()
    assert ViewFiles(snapshot.directory, snapshot.pointer).has(MAP)
    rag.open_graph_views = lambda: pytest.fail("the graph was opened")
    view = rag.build_graph_overview(max_nodes=17)
    assert "first.py" in {node.key for node in view.nodes}


def test_views_that_nobody_visited_are_not_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(view_refresher, "MIN_CHUNKS", 0)
    engine = CodeRAG(write_shop(tmp_path / "shop"))
    engine.index()
    add_file(engine, "first")
    assert list_outdated_views(engine.open_generation()) == []


def test_a_newer_generation_cancels_the_computation(rag, views, monkeypatch):
    monkeypatch.setattr(view_worker, "_COMMAND", SLEEP)
    worker, refresher, wait = views
    refresher.note_generation(str(rag.root), rag)
    wait_for_start(worker, get_key(rag))
    add_file(rag, "second")
    refresher.note_generation(str(rag.root), rag)
    (end,) = wait()
    assert end.is_cancelled


def test_a_visitor_does_not_wait_for_what_is_computed_ahead(rag, views, monkeypatch):
    monkeypatch.setattr(view_worker, "_COMMAND", SLEEP)
    worker, refresher, wait = views
    refresher.note_generation(str(rag.root), rag)
    key = get_key(rag)
    wait_for_start(worker, key)
    other = ViewTask(("/elsewhere", (1, "x")), [PROJECTION], "pca", is_ahead=False)
    assert worker.start(other) is None
    (end,) = wait()
    assert end.is_cancelled
    while worker.start(other) is None:
        time.sleep(0.01)
    assert worker.find(other.key, PROJECTION) is not None
    assert worker.start(ViewTask(key, [PROJECTION], "pca", is_ahead=True)) is None
    assert worker.find(other.key, PROJECTION) is not None


def test_a_long_computation_is_not_repeated_soon(rag, views):
    _, refresher, wait = views
    refresher.note_generation(str(rag.root), rag)
    wait()
    add_file(rag, "second")
    started = time.monotonic()
    refresher.note_end(ViewEnd(ViewTask(get_key(rag), [PROJECTION], "pca", is_ahead=True), 0.1, None, False))
    refresher.note_generation(str(rag.root), rag)
    wait(2)
    assert time.monotonic() - started > 1  # ten times as long as the last one took
