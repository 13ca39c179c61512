"""However a repository got to where it is, its index is the one that a clean run makes."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.app import CodeRAG
from tests.support.indexes import assert_same_index

PATHS = ("a.py", "A.py", "pkg/b.py", "pkg/sub/c.go", "docs/guide.md", "d.ts", "data.txt", "run.sh")
FOLDERS = ("pkg", "pkg/sub", "docs", "other", "other/below")
CONTENTS = (
    "def first(value):\n    return second(value)\n",
    'class Store:\n    """Keeps things."""\n\n    def get(self, key):\n        return self.items[key]\n',
    "package store\n\nfunc Get(key string) string {\n\treturn find(key)\n}\n",
    "# Guide\n\nHow to use it.\n\n## Setup\n\nInstall größe.\n",
    "export class View {\n  render(props: Props): void {}\n}\n",
    "解析配置 plain text\n",
    "def broken(:\n  x = = 1\n",
    "",
    "\0binary\0",
)
IGNORED = ("", "a.py\n", "pkg/\n", "*.md\n!docs/guide.md\n")

WRITE = st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(CONTENTS))
SWAP = st.tuples(st.just("edit keeping size and time"), st.sampled_from(PATHS), st.sampled_from("xyz"))
DELETE = st.tuples(st.just("delete"), st.sampled_from(PATHS + FOLDERS), st.none())
RENAME = st.tuples(st.just("rename"), st.sampled_from(PATHS), st.sampled_from(PATHS))
MOVE = st.tuples(st.just("rename"), st.sampled_from(FOLDERS), st.sampled_from(FOLDERS))
TOUCH = st.tuples(st.just("touch"), st.sampled_from(PATHS), st.none())
IGNORE = st.tuples(st.just("write"), st.just(".coderagignore"), st.sampled_from(IGNORED))
INDEX = st.tuples(st.just("index"), st.none(), st.none())
EDITS = st.lists(
    WRITE | WRITE | WRITE | SWAP | DELETE | RENAME | MOVE | TOUCH | IGNORE | INDEX, min_size=3, max_size=12
)


def edit(root, action, path, other):
    """Do an edit, if it can be done."""
    file = root / path
    if action == "write":
        if not file.is_dir():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(other.encode())
    elif not file.exists():
        return
    elif action == "delete":
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    elif action == "touch":
        os.utime(file)
    elif action == "edit keeping size and time":
        status = file.stat()
        file.write_bytes(other.encode() + file.read_bytes()[1:] if status.st_size else b"")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif not (root / other).exists() and not (root / other).is_relative_to(file):
        (root / other).parent.mkdir(parents=True, exist_ok=True)
        file.rename(root / other)


def open_repository(root, *, workers=0, **arguments):
    return CodeRAG(root, ingestion={"chunk": {"min_tokens": 0}, "workers": workers}, **arguments)


def assert_as_clean(rag, elsewhere, **arguments):
    """The index equals a new one."""
    clean = open_repository(rag.root, storage={"directory": str(elsewhere)}, **arguments)
    clean.index()
    assert_same_index(rag._store.open(), clean._store.open())


@pytest.mark.slow
@settings(max_examples=25)
@given(EDITS)
def test_an_updated_index_equals_a_clean_one(edits):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repo"
        root.mkdir()
        rag = open_repository(root)
        rag.index()
        for number, (action, path, other) in enumerate([*edits, ("index", None, None)]):
            if action != "index":
                edit(root, action, path, other)
                continue
            rag.index()
            assert_as_clean(rag, Path(folder) / f"clean{number}")
            pointer = rag._store.read_pointer()
            report = rag.index()
            assert (report.added, report.changed, report.removed, report.renamed) == (0, 0, 0, 0)
            assert rag._store.read_pointer() == pointer
            assert rag.status().fresh


@pytest.mark.slow
def test_an_index_updated_by_worker_processes_equals_a_clean_one(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    rag = open_repository(root, workers=2)
    rag.index()
    for step, text in enumerate(CONTENTS):
        for number, path in enumerate(PATHS):
            if (step + number) % 3:
                edit(root, "write", path, CONTENTS[(step + number) % len(CONTENTS)])
            elif step % 2:
                edit(root, "delete", path, None)
        edit(root, "write", "pkg/always.py", text)
        rag.index()
    assert_as_clean(rag, tmp_path / "clean", workers=1)


def test_results_follow_a_renamed_file(tmp_path):
    (tmp_path / "old_name.py").write_text("def hash_password(text):\n    return text\n")
    rag = open_repository(tmp_path)
    rag.index()
    assert [str(hit.path) for hit in rag.search("hash_password")] == ["old_name.py"]
    (tmp_path / "old_name.py").rename(tmp_path / "new_name.py")
    assert rag.index().renamed == 1
    assert [str(hit.path) for hit in rag.search("hash_password")] == ["new_name.py"]
    assert [str(hit.path) for hit in rag.definition("hash_password")] == ["new_name.py"]


def test_results_of_a_deleted_file_are_gone(tmp_path):
    for name in ("keep.py", "gone.py"):
        (tmp_path / name).write_text(f"def {name[:4]}_password(text):\n    return text\n")
    rag = open_repository(tmp_path)
    rag.index()
    (tmp_path / "gone.py").unlink()
    rag.index()
    assert [str(hit.path) for hit in rag.search("password")] == ["keep.py"]
    assert rag.definition("gone_password") == []
