"""Embedding maps of a workspace: small ones at once, large ones in a process, each computed once."""

import time

import pytest

from coderag import CodeRAG
from coderag.errors import ConfigurationError, ServiceError
from coderag.retrieval.projection.projection import Projection
from coderag.workspace import projections, view_worker
from coderag.workspace.projections import Projections
from coderag.workspace.view_worker import ViewProgress, ViewWorker
from tests.support.shop import write_shop


@pytest.fixture
def rag(tmp_path):
    engine = CodeRAG(write_shop(tmp_path / "shop"))
    engine.index()
    return engine


def make_maps():
    def note_end(end):
        maps.note_end(end)

    maps = Projections(ViewWorker(note_end))
    return maps


def wait_for_map(maps, rag):
    deadline = time.monotonic() + 60
    stages = set()
    while time.monotonic() < deadline:
        _, state = maps.get(rag)
        if isinstance(state, Projection):
            return state, stages
        assert isinstance(state, ViewProgress)
        stages.add(state.stage)
        time.sleep(0.05)
    pytest.fail("the map did not come")


def test_a_small_map_is_there_at_once_and_read_by_the_next_process(rag, monkeypatch):
    _, first = make_maps().get(rag)
    assert isinstance(first, Projection)
    monkeypatch.setattr(projections, "store_projection", lambda *_: pytest.fail("it was computed again"))
    pointer, again = make_maps().get(rag)
    assert isinstance(again, Projection)
    assert again.info == first.info
    assert pointer.identity == rag.open_generation().pointer.identity


def test_a_new_generation_has_a_new_map(rag):
    maps = make_maps()
    _, first = maps.get(rag)
    (rag.root / "extra.py").write_text("def pack_parcel(box):\n    return box\n")
    rag.index()
    _, second = maps.get(rag)
    assert len(second) == len(first) + 1


def test_a_large_map_is_computed_in_a_process(rag, monkeypatch):
    monkeypatch.setattr(projections, "MAX_INLINE_CHUNKS", 0)
    maps = make_maps()
    state, stages = wait_for_map(maps, rag)
    assert len(state) == len(rag.open_generation())
    assert "starting" in stages


def test_the_death_of_the_process_is_reported_once_and_a_retry_works(rag, monkeypatch):
    monkeypatch.setattr(projections, "MAX_INLINE_CHUNKS", 0)
    monkeypatch.setattr(view_worker, "_COMMAND", "import os; os._exit(3)")
    maps = make_maps()
    with pytest.raises(ServiceError, match="exit code 3"):
        wait_for_map(maps, rag)
    monkeypatch.undo()
    assert isinstance(maps.get(rag)[1], Projection)


def test_an_error_of_the_process_keeps_its_class(rag, monkeypatch):
    monkeypatch.setattr(projections, "MAX_INLINE_CHUNKS", 0)
    code = "import sys; sys.modules['fastumap'] = None;from coderag.workspace.view_process import main; main()"
    monkeypatch.setattr(view_worker, "_COMMAND", code)
    with CodeRAG(rag.root, web={"projection": "umap"}) as engine, pytest.raises(ConfigurationError, match="umap"):
        wait_for_map(make_maps(), engine)
