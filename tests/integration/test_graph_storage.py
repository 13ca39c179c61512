"""The code graph follows the files, and survives whatever happens to the index."""

from dataclasses import replace

import pytest

from coderag import CodeRAG
from coderag.codegraph import code_graph_builder
from coderag.errors import StoreError
from coderag.ingestion.files import changes
from coderag.stores.pointer import write_pointer
from tests.loopback.ollama_server import OllamaServer
from tests.support.programs import edges_of
from tests.support.scip_index import DEFINITION, ScipDocument, ScipIndex, symbol

FILES = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": "from .money import rounded\n\n\nclass Cart:\n    def total(self):\n        return rounded(1)\n\n"
    "    def pay(self, till):\n        return till.other(1)\n",
    "shop/money.py": "def rounded(amount):\n    return amount\n\n\ndef other(amount):\n    return amount\n",
    "app.py": "from shop import Cart\n\n\ndef run(cart: Cart):\n    cart.total()\n",
    "README.md": "# Shop\n\nCall `Cart.total`.\n",
}
CALLS = {
    ("app.py:run", "calls", "shop/cart.py:Cart.total"),
    ("shop/cart.py:Cart.total", "calls", "shop/money.py:rounded"),
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(changes, "_FINE_GRAIN_NS", -(10**12))  # take what was written just now for old
    root = tmp_path / "repo"
    for path, text in FILES.items():
        write(root, path, text)
    return root


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def open_repository(root, **sections):
    return CodeRAG(root, ingestion={"workers": 0}, **sections)


def edges(rag):
    snapshot = rag._store.open()
    return edges_of(snapshot.read_graph())


def calls(rag):
    return {edge[:3] for edge in edges(rag) if edge.relation == "calls"}


def assert_as_clean(rag):
    clean = open_repository(rag.root, storage={"directory": str(rag.root.parent / "clean")})
    clean.index(full=True)
    mine, other = (one._store.open() for one in (rag, clean))
    assert mine.read_graph().nodes.to_pylist() == other.read_graph().nodes.to_pylist()
    assert mine.read_graph().edges.to_pylist() == other.read_graph().edges.to_pylist()


def test_the_report_counts_edges_whether_or_not_there_was_anything_to_do(root):
    rag = open_repository(root)
    report = rag.index()
    assert report.edges == len(edges(rag)) > 5
    assert calls(rag) == CALLS
    assert rag.index().edges == report.edges
    assert rag.index(full=True).edges == report.edges


def test_a_changed_file_changes_the_edges_into_and_out_of_it(root):
    rag = open_repository(root)
    rag.index()
    write(root, "shop/money.py", FILES["shop/money.py"].replace("rounded", "ceiled"))
    rag.index()
    assert calls(rag) == {("app.py:run", "calls", "shop/cart.py:Cart.total")}
    assert_as_clean(rag)
    (root / "shop/cart.py").rename(root / "shop/basket.py")
    write(root, "shop/__init__.py", "from .basket import Cart\n")
    rag.index()
    assert calls(rag) == {("app.py:run", "calls", "shop/basket.py:Cart.total")}
    assert_as_clean(rag)
    (root / "shop/__init__.py").unlink()
    rag.index()
    assert_as_clean(rag)


def test_an_index_of_an_earlier_version_has_no_graph_until_it_is_indexed_again(root):
    rag = open_repository(root)
    rag.index()
    pointer = rag._store.read_pointer()
    tables = {name: pointer.tables[name] for name in ("chunks", "files")}
    write_pointer(rag._store.directory, replace(pointer, tables=tables))
    earlier = open_repository(root)
    assert earlier._store.open().read_graph().nodes.num_rows == 0
    assert earlier.search("total")
    assert earlier.graph.hotspots() == []
    earlier.index()
    assert calls(earlier) == CALLS


def test_other_rules_link_again_without_parsing(root, monkeypatch):
    rag = open_repository(root)
    before = rag.index()
    monkeypatch.setattr(code_graph_builder, "LINKING_VERSION", 99)
    steps = []
    report = rag.index(progress=steps.append)
    assert report.generation == before.generation + 1
    assert (report.unchanged, report.added, report.changed, report.edges) == (len(FILES), 0, 0, before.edges)
    assert "chunk" not in {step.stage for step in steps}
    assert calls(rag) == CALLS
    assert rag.index().generation == report.generation


def test_another_embedding_model_keeps_the_graph(root):
    rag = open_repository(root)
    rag.index()
    before = edges(rag)
    with OllamaServer(dimension=48) as server:
        other = open_repository(root, embedding={"provider": "ollama", "base_url": server.url})
        report = other.index()
        assert report.reembedded
        assert report.unchanged == len(FILES)
        assert edges(other) == before
        write(root, "app.py", "from shop.money import other\n\n\ndef run():\n    other(1)\n")
        other.index()
    assert ("app.py:run", "calls", "shop/money.py:other") in calls(other)


def scip(root):
    """Return a SCIP index that knows what ``till.other`` is, and nothing of ``rounded(1)``."""
    other, rounded = symbol("shop/money/", "other()."), symbol("shop/money/", "rounded().")
    pay = symbol("shop/cart/", "Cart#", "pay().")
    money = ScipDocument("shop/money.py", [(1, 4, 7, rounded, DEFINITION), (5, 4, 5, other, DEFINITION)])
    cart = ScipDocument("shop/cart.py", [(8, 8, 3, pay, DEFINITION), (9, 20, 5, other)])
    path = root.parent / "index.scip"
    path.write_bytes(ScipIndex([money, cart], root.as_uri()).to_bytes())
    return path


def test_imported_edges_are_kept_until_their_file_changes(root):
    rag = open_repository(root)
    rag.index()
    rag.import_scip(scip(root))
    assert ("shop/cart.py:Cart.pay", "calls", "shop/money.py:other") in calls(rag)
    assert ("shop/cart.py:Cart.total", "calls", "shop/money.py:rounded") not in calls(rag)
    found = [edge for edge in edges(rag) if edge.resolver == "scip"]
    assert {edge.confidence for edge in found} == {1.0}

    write(root, "app.py", FILES["app.py"] + "\n\ndef more(): pass\n")
    rag.index()
    assert [edge for edge in edges(rag) if edge.resolver == "scip"] == found
    write(root, "shop/money.py", "def one(): pass\n\n\n" + FILES["shop/money.py"])
    rag.index()
    assert ("shop/cart.py:Cart.pay", "calls", "shop/money.py:other") in calls(rag)
    write(root, "shop/cart.py", FILES["shop/cart.py"] + "\n")
    rag.index()
    assert calls(rag) == CALLS
    assert not [edge for edge in edges(rag) if edge.resolver == "scip"]


def test_imported_edges_whose_end_is_gone_are_left_out(root):
    rag = open_repository(root)
    rag.index()
    rag.import_scip(scip(root))
    write(root, "shop/money.py", "def rounded(amount):\n    return amount\n")
    rag.index()
    assert not [edge for edge in edges(rag) if edge.resolver == "scip" and edge.relation == "calls"]
    (root / "shop/money.py").unlink()
    rag.index()
    assert ("app.py:run", "calls", "shop/cart.py:Cart.total") in calls(rag)


def test_damaged_imported_edges_are_reported(root):
    rag = open_repository(root)
    rag.index()
    (rag._store.directory / "scip-edges.arrow").write_bytes(b"damaged")
    with pytest.raises(StoreError, match="damaged") as caught:
        rag.index()
    assert "Import the SCIP index again" in caught.value.hint
    assert calls(rag) == CALLS
