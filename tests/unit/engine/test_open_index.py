import threading

import pytest

from coderag import CodeRAG
from coderag.config.sections import SearchSettings
from coderag.errors import IndexNotFoundError, StoreError
from tests.support.summaries import write_files, writing_model


@pytest.fixture
def rag(tmp_path):
    (tmp_path / "shop.py").write_text("def pay(): ...\n")
    rag = CodeRAG(tmp_path, ingestion={"workers": 0})
    rag.index()
    return rag


def parts(rag):
    opened, search = rag._open_index, rag.settings.search
    return opened.open_context(search).corpus, opened.open_graph(), opened.open_text_search()


def test_each_part_is_opened_once(rag):
    assert all(first is again for first, again in zip(parts(rag), parts(rag), strict=True))


def test_context_and_graph_share_one_graph(rag):
    assert rag._open_index.open_context(rag.settings.search).graph is rag.graph


def test_commit_reopens_each_part(rag):
    before = parts(rag)
    (rag.root / "cart.py").write_text("from shop import pay\n\n\ndef check_out():\n    pay()\n")
    rag.index()
    assert not any(first is again for first, again in zip(before, parts(rag), strict=True))
    assert [caller.qualified_name for caller in rag.callers("pay")] == ["check_out"]
    assert rag.search_text("check_out").total == 1


def test_new_index_with_a_reset_generation_is_opened(rag):
    assert str(rag.search("pay")[0].path) == "shop.py"
    other = CodeRAG(rag.root, ingestion={"workers": 0})
    (rag.root / "shop.py").rename(rag.root / "till.py")
    for path in sorted(rag._store.directory.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    other.index()
    assert rag._store.read_pointer().generation == 1
    assert str(rag.search("pay")[0].path) == "till.py"


def test_other_search_settings_share_the_open_index(rag):
    entry = rag.with_search(SearchSettings(top_k=1))
    assert entry._open().corpus is rag._open().corpus
    assert (entry._open().settings.top_k, rag._open().settings.top_k) == (1, SearchSettings().top_k)
    (rag.root / "cart.py").write_text("def check_out(): ...\n")
    rag.index()
    assert [hit.name for hit in entry.search("check_out")] == ["check_out"]


def test_missing_index_opens_no_part(tmp_path):
    opened = CodeRAG(tmp_path)._open_index
    for part in (lambda: opened.open_context(SearchSettings()), opened.open_graph, opened.open_text_search):
        with pytest.raises(IndexNotFoundError, match="is not indexed yet"):
            part()


@pytest.fixture
def enriched(tmp_path):
    """An open index that another process has just put summaries into."""
    write_files(tmp_path)
    rag = CodeRAG(tmp_path)
    rag.index()
    parts(rag)
    rag.search("checkout")
    CodeRAG(tmp_path, language_model=writing_model()).enrich()
    return rag


def summary_of_checkout(rag):
    return rag.search("checkout", top_k=1)[0].summary


def test_searches_continue_while_a_commit_of_summaries_is_opened(enriched, monkeypatch):
    may_open = threading.Event()
    open_now = enriched._store.open
    monkeypatch.setattr(enriched._store, "open", lambda: may_open.wait(60) and open_now())
    assert "Marvellous" not in summary_of_checkout(enriched)
    assert "Marvellous" not in summary_of_checkout(enriched)
    may_open.set()
    enriched._open_index.wait_for_renewal()
    assert "Marvellous" in summary_of_checkout(enriched)


def test_own_summaries_are_visible_to_the_next_search(tmp_path):
    write_files(tmp_path)
    rag = CodeRAG(tmp_path, language_model=writing_model())
    rag.index()
    assert "Marvellous" not in summary_of_checkout(rag)
    rag.enrich()
    assert "Marvellous" in summary_of_checkout(rag)


def test_commit_of_summaries_keeps_the_code_graph_open(enriched):
    graph = enriched._open_index._open_graph_part.part
    enriched._open_index.wait_for_renewal()
    assert enriched.graph is graph
    assert enriched._open().graph is graph
    assert [caller.qualified_name for caller in enriched.callers("total")] == ["checkout"]


def test_edit_after_a_commit_of_summaries_is_visible_at_once(enriched):
    (enriched.root / "shop" / "cart.py").write_text("def refund(): ...\n")
    CodeRAG(enriched.root).index()
    assert enriched.search("refund", top_k=1)[0].name == "refund"


def test_failed_renewal_is_retried_by_the_next_search(enriched, monkeypatch):
    def fail():
        raise StoreError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(enriched._store, "open", fail)
        summary_of_checkout(enriched)
        enriched._open_index.wait_for_renewal()
        with pytest.raises(StoreError, match="the disk is gone"):
            enriched.search("checkout")
    assert "Marvellous" in summary_of_checkout(enriched)
