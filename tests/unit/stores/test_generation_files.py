"""Rejection of a generation with changed files, before native code reads them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coderag.errors import StoreError
from coderag.stores.lance_table import LanceTable
from coderag.stores.pointer import read_pointer

TREE = {"src/a.py": ["def alpha beta", "alpha alpha gamma"], "src/b.py": ["beta delta"], "c.md": ["gamma words words"]}

PARTS = ["chunks.lance/data", "chunks.lance/_versions", "files.lance/data", "files.lance/_versions"]
ARRAYS = ["columns.npy", "counts.npy", "ends.npy", "id_bytes.npy", "id_ends.npy", "terms.txt"]
FILES = [*(f"lance/{part}" for part in PARTS), *(f"lexical-000001/{name}" for name in ARRAYS)]

DAMAGE = {
    "missing": Path.unlink,
    "shorter": lambda path: os.truncate(path, path.stat().st_size - 1),
    "empty": lambda path: os.truncate(path, 0),
}

# Reads all of an index; what it ends with is all that is known if it crashes.
READ = """
import sys
from pathlib import Path
from coderag.errors import StoreError
from coderag.stores.corpus import Corpus
from coderag.stores.index_store import IndexStore
try:
    corpus = Corpus(IndexStore(Path(sys.argv[1])).open())
    corpus.body, corpus.names, corpus.docs, corpus.snapshot.read_graph(), corpus.read_texts([0])
except StoreError as error:
    print(error.hint)
"""


@pytest.fixture
def written(store, world):
    world.write(store, TREE)
    return store


def damaged_file(store, name):
    path = store.directory / "v1" / name
    return next(path.glob("*.[lm]an*")) if path.is_dir() else path


def without_notes(store):
    """Make the generation one of a version that noted nothing of its files."""
    pointer = store.directory / "v1/CURRENT"
    pointer.write_text(json.dumps({**json.loads(pointer.read_text()), "contents": {}}))


def read_apart(store):
    return subprocess.run(
        [sys.executable, "-c", READ, str(store.directory)],
        text=True, capture_output=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_writer_detects_missing_or_truncated_files_until_reset(written, world, name, damage):
    DAMAGE[damage](damaged_file(written, name))
    before = (written.directory / "v1/CURRENT").read_bytes()
    with written.open_writer() as writer, pytest.raises(StoreError) as caught:
        _ = writer.base
    assert "coderag index" in caught.value.hint
    assert (written.directory / "v1/CURRENT").read_bytes() == before
    with pytest.raises(StoreError):
        written.open().check_files()
    world.check(world.write(written, TREE), TREE)


@pytest.mark.parametrize("name", FILES)
def test_reader_detects_an_overwritten_tail(written, name):
    path = damaged_file(written, name)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="overwritten") as caught:
        written.open().check_files()
    assert "coderag index" in caught.value.hint


def test_fingerprints_cover_all_files_of_a_generation(written, world):
    with written.open_writer() as writer:
        writer.remove(["src/a.py"])
        world.add(writer, {"src/a.py": ["def alpha epsilon"]})
        world.commit(writer, TREE)
    pointer = read_pointer(written.directory)
    root = written.directory / "v1"
    expected = set(root.joinpath(pointer.lexical).iterdir())
    for name, version in pointer.tables.items():
        expected |= set(LanceTable(root / f"lance/{name}.lance").list_version_files(version))
    assert {root / name for name in pointer.contents} == expected
    written.open().check_files()


@pytest.mark.parametrize("size", [0, 5])
def test_truncated_vocabulary_of_an_older_index_does_not_crash(written, size):
    without_notes(written)
    os.truncate(written.directory / "v1/lexical-000001/terms.txt", size)
    ended = read_apart(written)
    assert (ended.returncode, "coderag index" in ended.stdout) == (0, True), ended.stderr


@pytest.mark.parametrize("value", [-1, 2**31 - 1, 1_000_000])
def test_column_out_of_range_of_an_older_index_does_not_crash(written, value):
    without_notes(written)
    path = written.directory / "v1/lexical-000001/columns.npy"
    columns = np.load(path)
    columns[len(columns) // 2] = value
    np.save(path, columns)
    ended = read_apart(written)
    assert (ended.returncode, "coderag index" in ended.stdout) == (0, True), ended.stderr


@pytest.mark.parametrize("value", [-(2**63), -1, 3, 2**40, 2**63 - 1])
@pytest.mark.parametrize("place", [(0, 0), (0, 1), (1, -1), (2, -1)])
def test_unsorted_row_ends_do_not_crash(written, place, value):
    path = written.directory / "v1/lexical-000001/ends.npy"
    ends = np.load(path)
    ends[place] = value
    np.save(path, ends)
    without_notes(written)
    ended = read_apart(written)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("name", ["columns.npy", "ends.npy", "id_ends.npy", "id_bytes.npy"])
@pytest.mark.parametrize("kind", [np.float64, np.int8, ">i8"])
def test_arrays_of_a_wrong_dtype_are_rejected(written, name, kind):
    without_notes(written)
    path = written.directory / "v1/lexical-000001" / name
    np.save(path, np.load(path).astype(kind))
    with pytest.raises(StoreError) as caught:
        written.open().read_counts()
    assert "coderag index" in caught.value.hint
