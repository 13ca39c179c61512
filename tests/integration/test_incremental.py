"""However a repository got to where it is, its index is the one that a clean run makes."""

import os
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coderag.app import CodeRAG
from coderag.stores.arrow import METADATA_COLUMNS
from coderag.stores.field_counts import FIELDS

PATHS = ("a.py", "pkg/b.py", "pkg/sub/c.go", "docs/guide.md", "d.ts", "data.txt")
CONTENTS = (
    "def first(value):\n    return second(value)\n",
    'class Store:\n    """Keeps things."""\n\n    def get(self, key):\n        return self.items[key]\n',
    "package store\n\nfunc Get(key string) string {\n\treturn find(key)\n}\n",
    "# Guide\n\nHow to use it.\n\n## Setup\n\nInstall größe.\n",
    "export class View {\n  render(props: Props): void {}\n}\n",
    "解析配置 plain text\n",
    "",
    "\0binary\0",
)

WRITE = st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(CONTENTS))
DELETE = st.tuples(st.just("delete"), st.sampled_from(PATHS), st.none())
RENAME = st.tuples(st.just("rename"), st.sampled_from(PATHS), st.sampled_from(PATHS))
TOUCH = st.tuples(st.just("touch"), st.sampled_from(PATHS), st.none())
INDEX = st.tuples(st.just("index"), st.none(), st.none())
EDITS = st.lists(WRITE | WRITE | DELETE | RENAME | TOUCH | INDEX, min_size=3, max_size=9)


def edit(root, action, path, other):
    file = root / path
    if action == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(other.encode())
    elif file.exists():
        if action == "delete":
            file.unlink()
        elif action == "touch":
            os.utime(file)
        elif action == "rename":
            (root / other).parent.mkdir(parents=True, exist_ok=True)
            file.replace(root / other)


def contents(snapshot):
    """Return everything that is stored of each chunk, by id, the term counts as words."""
    terms, counts = snapshot.terms(), snapshot.counts()
    rows = snapshot.chunks(["id", *METADATA_COLUMNS]).to_pylist()
    texts = snapshot.texts(range(len(rows)))
    fields = {field: getattr(counts, field).tocsr() for field in FIELDS}
    chunks = {}
    for place, row in enumerate(rows):
        words = {
            field: Counter({terms[j]: int(n) for j, n in zip(matrix[place].indices, matrix[place].data, strict=True)})
            for field, matrix in fields.items()
        }
        chunks[row["id"]] = (row, texts[place], words)
    assert len(chunks) == len(rows)
    return chunks


def vectors(snapshot):
    chunk_ids = snapshot.chunks(["id"])["id"].to_pylist()
    by_chunk = dict(zip(chunk_ids, snapshot.vectors(), strict=True))
    files = [record.path for record in snapshot.files()]
    by_file = [dict(zip(files, matrix, strict=True)) for matrix in snapshot.file_vectors()]
    return [by_chunk, *by_file]


def assert_same_index(snapshot, clean):
    assert contents(snapshot) == contents(clean)
    records = [[replace(record, mtime_ns=0) for record in one.files()] for one in (snapshot, clean)]
    assert records[0] == records[1]
    for mine, others in zip(vectors(snapshot), vectors(clean), strict=True):
        assert mine.keys() == others.keys()
        for key, vector in mine.items():
            np.testing.assert_allclose(vector, others[key], atol=1e-6)


def open_repository(root, **arguments):
    return CodeRAG(root, ingestion={"chunk": {"min_tokens": 0}}, **arguments)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS)
def test_an_updated_index_equals_a_clean_one(tmp_path, edits):
    shutil.rmtree(tmp_path)
    root = tmp_path / "repo"
    root.mkdir(parents=True)
    rag = open_repository(root)
    rag.index()
    for action, path, other in [*edits, ("index", None, None)]:
        rag.index() if action == "index" else edit(root, action, path, other)
    clean = open_repository(root, storage={"directory": str(tmp_path / "clean")})
    clean.index()
    assert_same_index(rag._store.open(), clean._store.open())
    assert rag.index().generation == rag.status().generation
    assert rag.status().fresh


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
