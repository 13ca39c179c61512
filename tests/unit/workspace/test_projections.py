"""Embedding maps of a workspace: small ones at once, large ones in a process, each computed once."""

import time

import pytest

from coderag import CodeRAG
from coderag.errors import ServiceError
from coderag.retrieval.projection.projection import Projection
from coderag.workspace import projections
from coderag.workspace.projections import ProjectionProgress, Projections
from tests.support.shop import write_shop


@pytest.fixture
def rag(tmp_path):
    engine = CodeRAG(write_shop(tmp_path / "shop"))
    engine.index()
    return engine


def wait_for_map(maps, rag):
    deadline = time.monotonic() + 60
    stages = set()
    while time.monotonic() < deadline:
        _, state = maps.get(rag)
        if isinstance(state, Projection):
            return state, stages
        assert isinstance(state, ProjectionProgress)
        stages.add(state.stage)
        time.sleep(0.05)
    pytest.fail("the map did not come")


def test_a_small_map_is_there_at_once_and_read_by_the_next_process(rag, monkeypatch):
    _, first = Projections().get(rag)
    assert isinstance(first, Projection)
    monkeypatch.setattr(projections, "store_projection", lambda *_: pytest.fail("it was computed again"))
    pointer, again = Projections().get(rag)
    assert isinstance(again, Projection)
    assert again.info == first.info
    assert pointer.identity == rag.open_generation().pointer.identity


def test_a_new_generation_has_a_new_map(rag):
    maps = Projections()
    _, first = maps.get(rag)
    (rag.root / "extra.py").write_text("def pack_parcel(box):\n    return box\n")
    rag.index()
    _, second = maps.get(rag)
    assert len(second) == len(first) + 1


def test_a_large_map_is_computed_in_a_process(rag, monkeypatch):
    monkeypatch.setattr(projections, "MAX_INLINE_CHUNKS", 0)
    maps = Projections()
    state, stages = wait_for_map(maps, rag)
    assert len(state) == len(rag.open_generation())
    assert "starting" in stages


def test_the_death_of_the_process_is_reported_once_and_a_retry_works(rag, monkeypatch):
    monkeypatch.setattr(projections, "MAX_INLINE_CHUNKS", 0)
    monkeypatch.setattr(projections, "_COMMAND", "import os; os._exit(3)")
    maps = Projections()
    with pytest.raises(ServiceError, match="exit code 3"):
        wait_for_map(maps, rag)
    monkeypatch.undo()
    assert isinstance(maps.get(rag)[1], Projection)


def test_an_error_of_the_process_keeps_its_class(rag, monkeypatch, tmp_path):
    from coderag.errors import ConfigurationError

    monkeypatch.setattr(projections, "MAX_INLINE_CHUNKS", 0)
    monkeypatch.setitem(__import__("sys").modules, "fastumap", None)
    code = "import sys; sys.modules['fastumap'] = None;from coderag.workspace.projection_process import main; main()"
    monkeypatch.setattr(projections, "_COMMAND", code)
    with CodeRAG(rag.root, web={"projection": "umap"}) as engine, pytest.raises(ConfigurationError, match="umap"):
        wait_for_map(Projections(), engine)
