"""What is no longer asked for goes back at once: a service that runs for days cannot wait for the collector."""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from coderag.app import CodeRAG


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Within it only what nothing refers to is freed."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def rag(tmp_path: Path) -> CodeRAG:
    (tmp_path / "shop.py").write_text("def pay(cart):\n    return total(cart)\n\n\ndef total(cart):\n    return 1\n")
    rag = CodeRAG(tmp_path, ingestion={"workers": 0})
    rag.index()
    return rag


def ask(rag: CodeRAG) -> None:
    rag.search("pay")
    rag.search("payy")  # near names are looked for
    rag.context("how does pay work")
    rag.callers("total")


def test_an_overlay_and_a_replaced_generation_are_let_go_at_once(rag, no_collector):
    ask(rag)
    generation = weakref.ref(rag._open().corpus)
    (rag.root / "shop.py").write_text(
        "def pay(cart):\n    return total(cart) + 1\n\n\ndef total(cart):\n    return 2\n"
    )
    ask(rag)
    overlay = weakref.ref(rag._open().corpus)
    assert overlay() is not generation()
    rag.index()
    ask(rag)
    assert (generation(), overlay()) == (None, None)
