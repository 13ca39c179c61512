"""Overviews of the code graph that are stored with the generation."""

import pytest

from coderag import CodeRAG
from coderag.engine.index_warmer import warm_context
from coderag.engine.stored_overviews import FILE_NAME
from coderag.schema.graph_view import ViewFilter
from coderag.stores import spelling_index
from coderag.stores.view_files import ViewFiles
from tests.support.shop import write_shop


@pytest.fixture
def rag(tmp_path):
    engine = CodeRAG(write_shop(tmp_path / "shop"))
    engine.index()
    return engine


def count_drawings(engine):
    drawings = []
    open_graph_views = engine.open_graph_views
    engine.open_graph_views = lambda: drawings.append(1) or open_graph_views()
    return drawings


def test_an_overview_is_drawn_once_for_each_filter(rag):
    first = rag.build_graph_overview()
    rag = CodeRAG(rag.root)
    drawings = count_drawings(rag)
    assert rag.build_graph_overview() == first
    assert drawings == []
    without_tests = rag.build_graph_overview(view_filter=ViewFilter(has_tests=False))
    assert len(without_tests.nodes) < len(first.nodes)
    assert len(drawings) == 1
    rag.build_graph_overview(opened=["shop/"])
    assert len(drawings) == 2


def test_an_edited_file_is_in_the_overview(rag):
    rag.build_graph_overview()
    (rag.root / "gift.py").write_text("def wrap_gift(box):\n    return box\n")
    assert "gift.py" in {node.key for node in rag.build_graph_overview().nodes}
    (rag.root / "gift.py").unlink()
    assert "gift.py" not in {node.key for node in CodeRAG(rag.root).build_graph_overview().nodes}


def test_a_damaged_overview_is_drawn_again(rag):
    first = rag.build_graph_overview()
    snapshot = rag.open_generation()
    (path,) = snapshot.directory.glob(f"views/*/{FILE_NAME}.npz")
    path.write_bytes(b"no archive")
    assert ViewFiles(snapshot.directory, snapshot.pointer).read(FILE_NAME) is None
    assert rag.build_graph_overview() == first


def test_a_warm_index_builds_nothing_for_a_misspelt_search(rag, monkeypatch):
    rag.search("discount")
    warm_context(rag._open_index.open_context(rag.settings.search))
    monkeypatch.setattr(spelling_index.SpellingIndex, "__init__", lambda *_: pytest.fail("an index was built"))
    assert rag.search("discuont")
