"""Equality of an overlay with an index run over the same files."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.app import CodeRAG
from coderag.errors import StoreError
from coderag.ingestion.live.edits import ROOT
from coderag.stores import overlay_corpus
from coderag.stores.corpus import Corpus
from coderag.stores.overlay import OverlaySnapshot
from coderag.stores.overlay_corpus import OverlayCorpus
from tests.support.indexes import assert_same_index

PATHS = ("a.py", "pkg/b.py", "pkg/sub/c.go", "docs/guide.md", "data.txt")
FOLDERS = ("pkg", "docs", "other")
CONTENTS = (
    "def first(value):\n    return second(value)\n",
    "from a import first\n\n\ndef second(value):\n    return first(value)\n",
    'class Store:\n    """Keeps things."""\n\n    def get(self, key):\n        return self.items[key]\n',
    "package store\n\nfunc Get(key string) string {\n\treturn find(key)\n}\n",
    "# Guide\n\nHow to use `first`.\n\n## Setup\n\nInstall größe.\n",
    "def broken(:\n  x = = 1\n",
    "",
    "\0binary\0",
    "x = 1  # too large\n" * 400,
)
IGNORED = ("", "a.py\n", "pkg/\n", "*.md\n")
MAX_BYTES = 5_000

WRITE = st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(CONTENTS))
DELETE = st.tuples(st.just("delete"), st.sampled_from(PATHS + FOLDERS), st.none())
MOVE = st.tuples(st.just("rename"), st.sampled_from(PATHS + FOLDERS), st.sampled_from(PATHS + FOLDERS))
LINK = st.tuples(st.just("link"), st.sampled_from(PATHS), st.none())
IGNORE = st.tuples(st.just("write"), st.just(".coderagignore"), st.sampled_from(IGNORED))
STEPS = st.lists(WRITE | WRITE | WRITE | DELETE | MOVE | LINK | IGNORE, min_size=1, max_size=5)


def do(root, action, path, other):
    """Do an edit, if it can be done."""
    file = root / path
    if action == "write":
        if not file.is_dir() and not file.is_symlink():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(other.encode())
    elif not file.exists():
        return
    elif action == "delete":
        shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
    elif action == "link":
        file.unlink()
        file.symlink_to("nowhere")
    elif not (root / other).exists() and not (root / other).is_symlink() and not (root / other).is_relative_to(file):
        (root / other).parent.mkdir(parents=True, exist_ok=True)
        file.rename(root / other)


def open_repository(root, **arguments):
    ingestion = {"chunk": {"min_tokens": 0}, "workers": 0, "max_file_bytes": MAX_BYTES}
    return CodeRAG(root, ingestion=ingestion, **arguments)


def overlaid(rag):
    """Return what lies over the current generation, or the generation itself."""
    rag.flag([ROOT])
    return rag._open_index.open_context(rag.settings.search).corpus.snapshot


@pytest.fixture
def rag(tmp_path):
    root = tmp_path / "repo"
    for path, content in zip(PATHS, CONTENTS, strict=False):
        do(root, "write", path, content)
    rag = open_repository(root)
    rag.index()
    return rag


@pytest.mark.slow
@settings(max_examples=15)
@given(STEPS, STEPS)
def test_overlay_equals_a_fresh_index(before, after):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repo"
        for path, content in zip(PATHS, CONTENTS, strict=False):
            do(root, "write", path, content)
        rag, real = open_repository(root), open_repository(root, storage={"directory": str(Path(folder) / "real")})
        for steps in (before, after):
            for step in steps:
                do(root, *step)
            if steps is before:
                rag.index()
        results = overlaid(rag)
        real.index()
        assert_same_index(results, real._store.open())


def test_overlay_search_equals_search_after_indexing(rag):
    do(
        rag.root,
        "write",
        "a.py",
        "def first(value):\n    return second(value) + third(value)\n\n\ndef third(value): ...\n",
    )
    rag.flag([ROOT])
    questions = ("third", "who calls third", "how is a value kept", "guide setup")
    before = [[(hit.path, hit.start_line, round(hit.score, 5)) for hit in rag.search(record)] for record in questions]
    assert isinstance(rag._open_index.open_context(rag.settings.search).corpus, OverlayCorpus)
    rag.index()
    assert not isinstance(rag._open_index.open_context(rag.settings.search).corpus, OverlayCorpus)
    assert [
        [(hit.path, hit.start_line, round(hit.score, 5)) for hit in rag.search(record)] for record in questions
    ] == before


def test_overlay_corpus_equals_a_fresh_corpus(rag):
    below = rag._open_index.open_context(rag.settings.search).corpus
    for name in ("qualified_name", "docstring"):
        below.get_column(name)
    do(rag.root, "write", "pkg/b.py", "def other(): ...\n")
    do(rag.root, "delete", "docs/guide.md", None)
    snapshot = overlaid(rag)
    assert isinstance(snapshot, OverlaySnapshot)
    mine, anew = OverlayCorpus(snapshot, below), Corpus(snapshot)
    rows = range(anew.n_chunks)
    assert mine.read_texts(rows) == anew.read_texts(rows)
    assert mine.get_column("qualified_name") == anew.get_column("qualified_name")
    assert mine.get_column("docstring") == anew.get_column("docstring")
    terms = [anew.term_ids[word] for word in ("store", "first", "other")]
    np.testing.assert_array_equal(mine.body.score(terms), anew.body.score(terms))


def list_uses(corpus):
    """Return each chunk that another uses, and each that uses it, by path and name."""
    names = list(zip(corpus.get_column("path"), corpus.get_column("qualified_name"), strict=True))
    rows = range(corpus.n_chunks)
    values = np.eye(corpus.n_chunks, dtype=np.float32)
    uses = [corpus.chunk_edges.find_best_used(values[used], np.arange(corpus.n_chunks)) for used in rows]
    return {(names[user], names[used]) for used in rows for user in np.flatnonzero(uses[used])}


EDITED = "import os\n\n\ndef zeroth(): ...\n\n\ndef other(): ...\n\n\n" + CONTENTS[1]


def test_uses_between_chunks_reflect_edited_files(rag):
    below = rag._open_index.open_context(rag.settings.search).corpus
    assert (("pkg/b.py", "second"), ("a.py", "first")) in list_uses(below)
    do(rag.root, "write", "pkg/b.py", EDITED.replace("second(value)", "renamed(value)"))
    snapshot = overlaid(rag)
    uses = list_uses(OverlayCorpus(snapshot, below))
    assert uses == list_uses(Corpus(snapshot))
    assert (("pkg/b.py", "renamed"), ("a.py", "first")) in uses


def test_uses_in_a_large_graph_are_those_before_the_edit_and_never_wrong(rag, monkeypatch):
    monkeypatch.setattr(overlay_corpus, "_MIN_LARGE_GRAPH_EDGES", 0)
    do(rag.root, "write", "c.py", "from pkg.b import second\n\n\ndef third(value):\n    return second(value)\n")
    do(rag.root, "write", "d.py", "def fourth(value):\n    return value\n")
    do(rag.root, "write", "e.py", "from c import third\n\n\ndef fifth(value):\n    return third(value)\n")
    rag.index()
    below = rag._open_index.open_context(rag.settings.search).corpus
    do(rag.root, "write", "pkg/b.py", EDITED)
    do(rag.root, "delete", "d.py", None)
    snapshot = overlaid(rag)
    uses = list_uses(OverlayCorpus(snapshot, below))
    assert (("e.py", "fifth"), ("c.py", "third")) in uses
    assert uses <= list_uses(Corpus(snapshot)), "lines of an edited file are not those of the old graph"


def test_nearest_chunks_reflect_edited_files(rag):
    do(rag.root, "write", "a.py", "def completely_different_name(): ...\n")
    snapshot = overlaid(rag)
    row = snapshot.read_chunks(["path"])["path"].to_pylist().index("a.py")
    (nearest, cosine), *_ = snapshot.find_nearest(snapshot.read_vectors()[row], 3)
    assert nearest == row
    assert cosine == pytest.approx(1.0)


def test_lance_filter_on_an_overlay_is_rejected_with_a_hint(rag):
    do(rag.root, "write", "a.py", "x = 1\n")
    with pytest.raises(StoreError) as caught:
        overlaid(rag).find_nearest(np.ones(3), 1, "path = 'a.py'")
    assert caught.value.hint
