"""Conformance suite of index stores."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.errors import (
    IndexLockedError,
    IndexModelError,
    IndexNotFoundError,
    IndexVersionError,
    StorageFullError,
    StoreError,
)
from coderag.schema.chunks import FileRecord
from coderag.stores import index_writer, lance_table, retention
from coderag.stores.arrow import build_node_table
from coderag.stores.index_store import EmbeddingInfo, FieldCounts, IndexStore
from coderag.stores.pointer import read_pointer, write_pointer

TREE = {"src/a.py": ["def alpha beta", "alpha alpha gamma"], "src/b.py": ["beta delta"], "c.md": ["gamma words words"]}
AWKWARD = [
    "it's.py",
    'qu"ote.py',
    "new\nline.py",
    "ünïcode/文件.py",
    "100%_done.py",
    "back\\slash.py",
    "x' OR '1'='1.py",
    "-- x",
    " ",
]


def test_empty_directory_has_no_pointer_and_open_has_a_hint(store):
    assert store.read_pointer() is None
    with pytest.raises(IndexNotFoundError) as caught:
        store.open()
    assert "coderag index" in caught.value.hint


def test_index_survives_a_round_trip(store, world):
    written = world.write(store, TREE)
    world.check(written, TREE)
    world.check(store.open(), TREE)
    assert store.read_pointer() == written.pointer
    assert written.pointer.generation == 1
    assert written.pointer.embedding == world.embedding
    assert written.pointer.repository == "repository"
    assert (store.directory / ".gitignore").read_text() == "*\n"


def test_directory_layout_matches_the_documentation(store, world):
    world.write(store, TREE)
    root = store.directory / "v1"
    assert sorted(entry.name for entry in root.iterdir()) == ["CURRENT", "lance", "lexical-000001", "writer.lock"]
    assert sorted(entry.name for entry in (root / "lance").iterdir()) == ["chunks.lance", "files.lance"]


def test_empty_index_can_be_written_and_extended(store, world):
    with store.open_writer() as writer:
        snapshot = world.commit(writer, {})
    world.check(snapshot, {})
    assert snapshot.find_nearest(np.ones(8, np.float32), 3) == []
    with store.open_writer() as writer:
        world.add(writer, TREE)
        world.commit(writer, TREE)
    world.check(store.open(), TREE)


def test_all_chunks_can_be_removed(store, world):
    world.write(store, TREE)
    with store.open_writer() as writer:
        writer.remove(TREE)
        world.check(world.commit(writer, {}), {})
    with store.open_writer() as writer:
        world.add(writer, TREE)
        world.check(world.commit(writer, TREE), TREE)


def test_removal_keeps_the_order_of_the_remaining_files(store, world):
    before = world.write(store, TREE).read_chunks()["path"].to_pylist()
    with store.open_writer() as writer:
        writer.remove(["src/b.py", "never/was.py"])
        rest = {path: texts for path, texts in TREE.items() if path != "src/b.py"}
        snapshot = world.commit(writer, rest)
    world.check(snapshot, rest)
    assert snapshot.read_chunks()["path"].to_pylist() == [path for path in before if path != "src/b.py"]


def test_a_rename_is_a_removal_and_an_addition(store, world):
    world.write(store, TREE)
    renamed = {("src/new.py" if path == "src/a.py" else path): texts for path, texts in TREE.items()}
    with store.open_writer() as writer:
        writer.remove(["src/a.py"])
        world.add(writer, {"src/new.py": TREE["src/a.py"]})
        snapshot = world.commit(writer, renamed)
    world.check(snapshot, renamed)


def test_changed_file_is_replaced_in_any_order_of_calls(store, world):
    world.write(store, TREE)
    with store.open_writer() as writer:
        writer.remove(["src/a.py"])
        world.add(writer, {"src/a.py": ["first thoughts"]})
        writer.remove(["src/a.py"])
        world.add(writer, {"src/a.py": ["second thoughts"]})
        changed = TREE | {"src/a.py": ["second thoughts"]}
        snapshot = world.commit(writer, changed)
    world.check(snapshot, changed)


def test_vocabulary_grows_over_many_batches(store, world, monkeypatch, capfd):
    monkeypatch.setattr(index_writer, "FLUSH_ROWS", 3)
    tree = {f"f{number}.py": [f"common word{number}", f"word{number % 3} tail"] for number in range(10)}
    with store.open_writer() as writer:
        for path, texts in tree.items():
            world.add(writer, {path: texts})
        world.add(writer, {})
        writer.remove(["f4.py"])
        del tree["f4.py"]
        snapshot = world.commit(writer, tree)
    world.check(snapshot, tree)
    assert len(lance.dataset(str(store.directory / "v1/lance/chunks.lance")).get_fragments()) > 2
    assert capfd.readouterr().err == ""  # Lance's core prints its warnings there


def test_one_writer_commits_several_times(store, world):
    with store.open_writer() as writer:
        world.add(writer, {"a": TREE["src/a.py"]})
        world.commit(writer, {"a": TREE["src/a.py"]})
        assert writer.base is not None
        writer.remove(["a"])
        world.add(writer, TREE)
        snapshot = world.commit(writer, TREE)
    assert snapshot.pointer.generation == 2
    world.check(store.open(), TREE)


def test_commit_without_changes_keeps_the_chunk_table(store, world):
    first = world.write(store, TREE)
    with store.open_writer() as writer:
        second = world.commit(writer, TREE)
    assert second.pointer.tables["chunks"] == first.pointer.tables["chunks"]
    world.check(second, TREE)


def test_reset_allows_another_dimension(store, world):
    old = world.write(store, TREE)
    with store.open_writer() as writer:
        writer.reset()
        assert writer.base is None
        node = world.node("x.py", 1, "new")
        writer.add(build_node_table([node]), np.eye(1, 4, dtype=np.float32), FieldCounts.build_empty(1, 0), [])
        files = [FileRecord("x.py", "indexed")]
        matrix = np.ones((1, 4), np.float32)
        new = writer.commit(files, matrix, matrix, embedding=EmbeddingInfo("other", "m", 4))
    assert new.read_vectors().shape == (1, 4)
    world.check(old, TREE)


def test_leaving_without_a_commit_changes_nothing(store, world, monkeypatch):
    monkeypatch.setattr(index_writer, "FLUSH_ROWS", 1)
    before = world.write(store, TREE)
    data = store.directory / "v1/lance/chunks.lance/data"
    files = sorted(data.iterdir())
    with pytest.raises(ZeroDivisionError), store.open_writer() as writer:
        writer.remove(TREE)
        world.add(writer, {"x": ["new text"]})
        raise ZeroDivisionError
    assert store.read_pointer() == before.pointer
    assert sorted(data.iterdir()) == files
    world.check(store.open(), TREE)


def test_a_reader_keeps_its_generation_while_a_writer_commits_twice(store, world, new_world):
    world.write(store, TREE)
    reader = store.open()
    lazy = store.open()
    world.check(reader, TREE)
    later = new_world()
    for tree in ({"x": ["one"]}, {"y": ["two"]}):
        with store.open_writer() as writer:
            writer.remove([*TREE, "x"])
            later.add(writer, tree)
            later.commit(writer, tree)
    world.check(reader, TREE)
    world.check(lazy, TREE)
    later.check(store.open(), {"y": ["two"]})


def test_second_writer_is_rejected_with_the_holder(store):
    with store.open_writer(), pytest.raises(IndexLockedError) as caught:
        store.open_writer().__enter__()
    assert str(os.getpid()) in str(caught.value)
    assert caught.value.retryable
    assert caught.value.hint == "Wait until it is done."
    with store.open_writer():
        pass


def test_lock_error_mentions_searching_if_an_index_exists(store, world):
    world.write(store, TREE)
    with store.open_writer(), pytest.raises(IndexLockedError) as caught:
        store.open_writer().__enter__()
    assert "searching works meanwhile" in caught.value.hint


@pytest.mark.parametrize("name", ["chunks", "files"])
def test_writer_detects_a_missing_table_and_reset_recreates_it(store, world, name):
    world.write(store, TREE)
    shutil.rmtree(store.directory / f"v1/lance/{name}.lance")
    with store.open_writer() as writer, pytest.raises(StoreError, match=f"has no table of {name}") as caught:
        assert writer.base
    assert "coderag index" in caught.value.hint
    with store.open_writer() as writer:
        writer.reset()
        world.add(writer, TREE)
        world.check(world.commit(writer, TREE), TREE)


def test_a_writer_waits_for_the_lock(store):
    entered, order = threading.Event(), []

    def hold() -> None:
        with store.open_writer():
            entered.set()
            order.append("first")

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(10)
    with store.open_writer(timeout_s=10):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_unknown_holder_is_not_named(store):
    with store.open_writer():
        (store.directory / "v1/writer.json").write_text("{")
        with pytest.raises(IndexLockedError, match=r"is being written: |is being written$"):
            store.open_writer().__enter__()


def test_writer_outside_its_with_statement_is_rejected(store):
    with pytest.raises(StoreError, match="with"):
        store.open_writer().remove(["x"])


def test_remains_of_a_killed_writer_are_ignored(store, world, monkeypatch):
    world.write(store, TREE)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(index_writer, "write_pointer", die)
        with pytest.raises(KeyboardInterrupt), store.open_writer() as writer:
            writer.remove(["c.md"])
            world.add(writer, {"lost.py": ["lost words"]})
            world.commit(writer, {})
    assert lance.dataset(str(store.directory / "v1/lance/chunks.lance")).version > store.read_pointer().tables["chunks"]
    world.check(store.open(), TREE)
    with store.open_writer() as writer:
        world.terms = list(writer.base.read_terms())
        world.add(writer, {"d.py": ["alive"]})
        snapshot = world.commit(writer, TREE | {"d.py": ["alive"]})
    world.check(snapshot, TREE | {"d.py": ["alive"]})


def test_writer_must_start_over_after_a_failed_commit(store, world, monkeypatch):
    with store.open_writer() as writer:
        world.add(writer, TREE)
        with monkeypatch.context() as patch:
            patch.setattr(index_writer, "write_pointer", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                world.commit(writer, TREE)
        with pytest.raises(StoreError, match="earlier commit failed"):
            world.commit(writer, TREE)
        writer.reset()
        world.terms = []
        world.add(writer, TREE)
        world.check(world.commit(writer, TREE), TREE)


def test_killed_first_writer_leaves_no_obstacle(store, world):
    data = store.directory / "v1/lance/chunks.lance/data"
    data.mkdir(parents=True)
    (data / "half.lance").write_bytes(b"LANC")
    (store.directory / "v1/lexical-000001").mkdir()
    world.check(world.write(store, TREE), TREE)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"generation": 1}', b"\xff", b'{"generation": {}}'])
def test_damaged_pointer_is_reported_and_can_be_rebuilt(store, world, content):
    world.write(store, TREE)
    (store.directory / "v1/CURRENT").write_bytes(content)
    with pytest.raises(StoreError) as caught:
        store.open()
    assert "coderag index" in caught.value.hint
    with store.open_writer() as writer:
        with pytest.raises(StoreError):
            _ = writer.base
        with pytest.raises(StoreError):
            writer.remove(["x"])
        writer.reset()
        world.terms = []
        world.add(writer, TREE)
        snapshot = world.commit(writer, TREE)
    world.check(snapshot, TREE)
    assert snapshot.pointer.generation == 2


def test_pointer_cannot_leave_the_index_directory(store, world):
    world.write(store, TREE)
    path = store.directory / "v1/CURRENT"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"lexical": "lexical-/../../.."}))
    with pytest.raises(StoreError):
        store.read_pointer()


@pytest.mark.parametrize("part", ["lance/chunks.lance", "lance/files.lance", "lexical-000001"])
def test_missing_parts_error_has_a_hint(store, world, part):
    world.write(store, TREE)
    (store.directory / "v1" / part).rename(store.directory / "elsewhere")
    with pytest.raises(StoreError) as caught:
        world.check(store.open(), TREE)
    assert "coderag index" in caught.value.hint
    world.check(world.write(store, TREE), TREE)


def test_damaged_arrays_and_tables_are_reported(store, world):
    world.write(store, TREE)
    counts = store.directory / "v1/lexical-000001/counts.npy"
    counts.write_bytes(counts.read_bytes()[:-3])
    with pytest.raises(StoreError):
        store.open().read_counts()
    for path in (store.directory / "v1/lance/chunks.lance/data").iterdir():
        path.write_bytes(b"\0" * path.stat().st_size)
    with pytest.raises(StoreError):
        store.open().read_chunks()


@pytest.mark.parametrize(("number", "advice"), [(0, "new format"), (2, "Update CodeRAG")])
def test_other_index_format_is_rejected_but_allows_a_new_index(store, world, number, advice):
    other = store.directory / f"v{number}"
    other.mkdir(parents=True)
    (other / "CURRENT").write_text("{}")
    with pytest.raises(IndexVersionError) as caught:
        store.open()
    assert advice in caught.value.hint
    assert f"format {number}" in str(caught.value)
    world.check(world.write(store, TREE), TREE)
    assert (other / "CURRENT").exists()


def test_other_tokenizer_is_rejected_until_rebuilt(store, world):
    snapshot = world.write(store, TREE)
    write_pointer(store.directory, replace(snapshot.pointer, tokenizer=99))
    with pytest.raises(IndexVersionError):
        store.open()
    with store.open_writer() as writer, pytest.raises(IndexVersionError):
        world.add(writer, TREE)
    world.check(world.write(store, TREE), TREE)


def test_other_embedding_model_is_rejected(store, world):
    world.write(store, TREE)
    with store.open_writer() as writer:
        with pytest.raises(IndexModelError):
            writer.commit([], np.zeros((0, 8)), np.zeros((0, 8)), embedding=EmbeddingInfo("other", "m", 8))
        with pytest.raises(IndexModelError):
            writer.add(
                build_node_table([world.node("a", 1, "")]),
                np.ones((1, 9), np.float32),
                FieldCounts.build_empty(1),
                list(world.terms),
            )
    with store.open_writer() as writer:
        writer.reset()
        world.terms = []
        world.add(writer, TREE)
        with pytest.raises(IndexModelError):
            writer.commit([], np.zeros((0, 9)), np.zeros((0, 9)), embedding=EmbeddingInfo("fake", "hash", 9))


def test_inconsistent_arguments_are_rejected(store, world):
    world.write(store, TREE)
    node, vector, terms = world.node("a", 1, "t"), np.ones((1, 8), np.float32), list(world.terms)
    with store.open_writer() as writer:
        for vectors, counts, vocabulary in [
            (np.ones((2, 8), np.float32), FieldCounts.build_empty(1), terms),
            (np.ones(8, np.float32), FieldCounts.build_empty(1), terms),
            (vector, FieldCounts.build_empty(2), terms),
            (vector, FieldCounts.build_empty(1, len(terms) + 1), terms),
            (vector, FieldCounts.build_empty(1), terms[:-1]),
            (vector, FieldCounts.build_empty(1), ["other", *terms[1:]]),
            (vector * np.nan, FieldCounts.build_empty(1), terms),
        ]:
            with pytest.raises(StoreError):
                writer.add(build_node_table([node]), vectors, counts, vocabulary)
        node.metadata["colour"] = "red"
        with pytest.raises(StoreError, match="colour"):
            writer.add(build_node_table([node]), vector, FieldCounts.build_empty(1), terms)
        node.metadata = {"start_line": "one"}
        with pytest.raises(StoreError):
            writer.add(build_node_table([node]), vector, FieldCounts.build_empty(1), terms)
        with pytest.raises(StoreError, match="File vectors"):
            writer.commit(world.files(TREE), np.zeros((2, 8)), np.zeros((2, 8)), embedding=world.embedding)
        with pytest.raises(StoreError, match="valid array name"):
            world.commit(writer, TREE, arrays={"../x": np.zeros(1)})
        world.check(world.commit(writer, TREE), TREE)
    with store.open_writer() as writer, pytest.raises(StoreError, match="line break"):
        writer.add(build_node_table([world.node("a", 1, "t")]), vector, FieldCounts.build_empty(1), [*terms, "a\nb"])
        world.commit(writer, TREE)


def test_missing_metadata_becomes_empty(store, world):
    node = world.node("a", 1, "t")
    node.metadata = {"path": "a"}
    with store.open_writer() as writer:
        writer.add(build_node_table([node]), np.ones((1, 8), np.float32), FieldCounts.build_empty(1), [])
        row = world.commit(writer, {"a": ["t"]}).read_chunks().to_pylist()[0]
    assert row["symbols"] == row["calls"] == []
    assert row["start_line"] == 0
    assert row["summary"] == ""


def test_awkward_paths_and_texts_survive_a_round_trip(store, world):
    tree = {path: [f"text of {path} 'quoted'", "\0 control"] for path in AWKWARD}
    world.write(store, tree)
    world.check(store.open(), tree)
    for path in AWKWARD:
        with store.open_writer() as writer:
            writer.remove([path])
            del tree[path]
            snapshot = world.commit(writer, tree)
        world.check(snapshot, tree)


def test_undecodable_names_are_escaped(store, world):
    path = "caf\udce9.py"  # what os.fsdecode makes of b"caf\xe9.py"
    snapshot = world.write(store, {path: ["x"], "b.py": ["y"]})
    assert snapshot.read_chunks(["path"])["path"].to_pylist() == ["caf\\udce9.py", "b.py"]
    assert [file.path for file in snapshot.read_files()][1] == "caf\\udce9.py"
    with store.open_writer() as writer:
        writer.remove([path])
        assert world.commit(writer, {"b.py": ["y"]}).read_texts([0]) == ["y"]


def test_read_chunks_selects_columns(store, world):
    snapshot = world.write(store, TREE)
    assert snapshot.read_chunks(["text", "path"]).column_names == ["text", "path"]
    snapshot.read_chunks()
    assert snapshot.read_chunks(["name", "id"]).column_names == ["name", "id"]
    with pytest.raises(StoreError):
        snapshot.read_chunks(["nonsense"])


def test_texts_follow_the_order_of_rows(store, world):
    snapshot = world.write(store, TREE)
    assert snapshot.read_texts([3, 0, 3]) == ["gamma words words", "def alpha beta", "gamma words words"]
    assert snapshot.read_texts([]) == []
    assert snapshot.read_texts(np.array([2])) == ["beta delta"]
    for wrong in (-1, 4):
        with pytest.raises(IndexError):
            snapshot.read_texts([wrong])


def test_nearest_matches_the_matrix_after_removals(store, world):
    tree = {f"f{number}.py": [f"text {number}", f"more {number}"] for number in range(20)}
    world.write(store, tree)
    with store.open_writer() as writer:
        writer.remove(["f3.py", "f11.py"])
        world.add(writer, {"z.py": ["last"]})
        snapshot = world.commit(
            writer,
            {path: texts for path, texts in tree.items() if path not in ("f3.py", "f11.py")} | {"z.py": ["last"]},
        )
    matrix = snapshot.read_vectors()
    cosines = matrix @ matrix[5]
    nearest = snapshot.find_nearest(matrix[5] * 3, 4)
    assert [row for row, _ in nearest] == np.argsort(-cosines)[:4].tolist()
    np.testing.assert_allclose([cosine for _, cosine in nearest], np.sort(cosines)[::-1][:4], atol=1e-6)
    paths = snapshot.read_chunks()["path"].to_pylist()
    assert {paths[row] for row, _ in snapshot.find_nearest(matrix[5], 9, "path = 'f1.py'")} == {"f1.py"}
    assert snapshot.find_nearest(matrix[5], 9, "path = 'no'") == []
    assert snapshot.find_nearest(np.zeros(8, np.float32), 3) == []
    with pytest.raises(StoreError):
        snapshot.find_nearest(np.ones(3, np.float32), 3)
    with pytest.raises(StoreError):
        snapshot.find_nearest(matrix[5], 3, "path = ")


def test_chunk_without_a_vector_is_never_nearest(store, world):
    nodes = world.nodes({"a": ["x", "y"]})
    vectors = world.vectors(nodes)
    vectors[0] = 0
    with store.open_writer() as writer:
        writer.add(build_node_table(nodes), vectors, world.counts(nodes), world.terms)
        snapshot = world.commit(writer, {"a": ["x", "y"]})
    assert [row for row, _ in snapshot.find_nearest(vectors[1], 2)] == [1]


def test_vectors_are_read_only(store, world):
    with pytest.raises(ValueError, match="read-only"):
        world.write(store, TREE).read_vectors()[0] = 1


def test_file_vectors_are_accepted_for_all_files(store, world):
    files = world.files(TREE)
    matrix = np.arange(len(files) * 8, dtype=np.float32).reshape(-1, 8)
    with store.open_writer() as writer:
        snapshot = writer.commit(files, matrix, matrix, embedding=world.embedding)
    content, _ = snapshot.read_file_vectors()
    assert not content[0].any()
    np.testing.assert_array_equal(content[1:], matrix[1:])


def test_attached_arrays_belong_to_their_generation(store, world):
    large = np.arange(100_000, dtype=np.int64)
    with store.open_writer() as writer:
        first = world.commit(writer, {}, arrays={"graph.indptr": np.array([0, 2]), "large": large})
        second = world.commit(writer, {})
    assert sorted(first.read_arrays()) == ["graph.indptr", "large"]
    assert first.read_arrays()["graph.indptr"].tolist() == [0, 2]
    np.testing.assert_array_equal(first.read_arrays()["large"], large)
    assert second.read_arrays() == {}


def test_fractional_counts_survive_a_round_trip(store, world):
    nodes = world.nodes(TREE)
    counts = world.counts(nodes)
    counts.body.data[:] = np.linspace(0.1, 70_000.5, counts.body.nnz)
    with store.open_writer() as writer:
        writer.add(build_node_table(nodes), world.vectors(nodes), counts, world.terms)
        read = world.commit(writer, TREE).read_counts()
    np.testing.assert_array_equal(read.body.toarray(), counts.body.toarray())
    counts.body.data[0] = -1
    with store.open_writer() as writer, pytest.raises(StoreError, match="negative"):
        writer.reset()
        writer.add(build_node_table(nodes), world.vectors(nodes), counts, world.terms)
        world.commit(writer, TREE)


def test_reordered_counts_are_matched_by_id(store, world):
    snapshot = world.write(store, TREE)
    path = store.directory / "v1/lance/chunks.lance"
    rows = lance.dataset(str(path)).to_table()
    version = lance.write_dataset(rows.take(pa.array([2, 0, 3, 1])), str(path), mode="overwrite").version
    moved = replace(snapshot.pointer, tables=snapshot.pointer.tables | {"chunks": version})
    write_pointer(store.directory, moved)
    world.check(store.open(), TREE)
    version = lance.write_dataset(rows.take(pa.array([2, 0, 3, 3])), str(path), mode="overwrite").version
    write_pointer(store.directory, replace(moved, tables=moved.tables | {"chunks": version}))
    with pytest.raises(StoreError, match="other chunks"):
        store.open().read_counts()


def test_only_the_previous_generation_is_retained(store, world, monkeypatch):
    monkeypatch.setattr(retention, "RETENTION_PERIOD", timedelta(0))
    snapshots = [world.write(store, TREE)]
    loaded = snapshots[0]
    world.check(loaded, TREE)
    lazy = store.open()
    for number in range(3):
        with store.open_writer() as writer:
            writer.remove(["x"])
            world.add(writer, {"x": [f"n{number}"]})
            world.commit(writer, TREE | {"x": [f"n{number}"]})
    root = store.directory / "v1"
    assert sorted(entry.name for entry in root.glob("lexical-*")) == ["lexical-000003", "lexical-000004"]
    pointer = store.read_pointer()
    assert [old.generation for old in pointer.retained] == [3]
    for name in ("chunks", "files"):
        retained = {entry["version"] for entry in lance.dataset(str(root / f"lance/{name}.lance")).versions()}
        assert retained == {pointer.tables[name], pointer.retained[0].tables[name]}
    np.testing.assert_array_equal(loaded.read_counts().body.toarray(), loaded.read_counts().body.toarray())
    assert loaded.read_vectors().shape == (4, 8)
    with pytest.raises(StoreError, match="replaced by 4") as caught:
        lazy.read_texts([0])
    assert "Open the index again" in caught.value.hint
    assert store.open().read_texts([4]) == ["n2"]


def test_reader_of_a_deleted_generation_is_told_to_reopen(store, world):
    lazy = type(world.write(store, TREE))(store.directory, store.read_pointer())
    with store.open_writer() as writer:
        world.commit(writer, {})
    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    pointer = store.read_pointer()
    write_pointer(
        store.directory, replace(pointer, retained=tuple(replace(old, retired=hour_ago) for old in pointer.retained))
    )

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), store.open_writer() as writer:
        world.add(writer, {"x": ["n"]})
        world.commit(writer, {"x": ["n"]}, build_graph=interrupted)
    assert store.read_pointer().generation == 2
    with pytest.raises(StoreError) as caught:
        lazy.read_counts()
    assert caught.value.hint == "Open the index again."


def test_recent_generations_are_retained_up_to_a_limit(store, world, monkeypatch):
    monkeypatch.setattr(retention, "MAX_RETAINED", 3)
    for _ in range(6):
        with store.open_writer() as writer:
            world.commit(writer, {})
    assert [old.generation for old in store.read_pointer().retained] == [5, 4, 3]
    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    pointer = store.read_pointer()
    write_pointer(
        store.directory, replace(pointer, retained=tuple(replace(old, retired=hour_ago) for old in pointer.retained))
    )
    with store.open_writer() as writer:
        world.commit(writer, {})
    assert [old.generation for old in store.read_pointer().retained] == [6]


def test_many_small_commits_are_compacted_and_stay_aligned(store, world, monkeypatch):
    monkeypatch.setattr(lance_table, "MAX_SMALL_FRAGMENTS", 3)
    tree: dict[str, list[str]] = {}
    for number in range(8):
        with store.open_writer() as writer:
            if number % 3 == 2:
                writer.remove([f"f{number - 1}"])
                del tree[f"f{number - 1}"]
            new = {f"f{number}": [f"word{number} common", "tail"]}
            world.add(writer, new)
            tree |= new
            snapshot = world.commit(writer, tree)
        world.check(snapshot, tree)
        dataset = lance.dataset(
            str(store.directory / "v1/lance/chunks.lance"), version=snapshot.pointer.tables["chunks"]
        )
        assert len(dataset.get_fragments()) <= 4


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError("Io error: ... (os error 28)")])
@pytest.mark.parametrize("place", ["write", "commit_changes", "arrays", "pointer"])
def test_full_disk_keeps_the_last_generation(store, world, monkeypatch, place, error):
    before = world.write(store, TREE)

    def full(*_: object, **__: object) -> None:
        raise error

    target = {
        "write": ("lance.fragment.write_fragments",),
        "commit_changes": ("lance.LanceDataset.commit",),
        "arrays": ("coderag.stores.lexical_files._write_file",),
        "pointer": ("os.fsync",),
    }[place]
    with monkeypatch.context() as patch:
        patch.setattr(target[0], full)
        with pytest.raises(StorageFullError) as caught, store.open_writer() as writer:
            world.add(writer, {"new.py": ["more words"]})
            world.commit(writer, TREE | {"new.py": ["more words"]})
    assert "space" in caught.value.hint
    assert store.read_pointer() == before.pointer
    world.check(store.open(), TREE)
    world.terms = []
    with store.open_writer() as writer:
        world.add(writer, {"new.py": ["more words"]})
        world.check(world.commit(writer, TREE | {"new.py": ["more words"]}), TREE | {"new.py": ["more words"]})


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small file system")
def test_really_full_file_system_is_reported(tmp_path, world):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(tmp_path)], check=False).returncode:
        pytest.skip("may not mount")
    try:
        store = IndexStore(tmp_path / ".coderag")
        before = world.write(store, TREE)
        noise = np.random.default_rng(0).integers(33, 127, (40, 100_000), dtype=np.uint8)
        big = {f"{number}.py": [bytes(row).decode("ascii")] for number, row in enumerate(noise)}
        with pytest.raises(StorageFullError), store.open_writer() as writer:
            world.add(writer, big)
            world.commit(writer, TREE | big)
        assert store.read_pointer() == before.pointer
        world.check(store.open(), TREE)
        world.terms = []
        with store.open_writer() as writer:
            world.add(writer, {"small.py": ["fits"]})
            world.check(world.commit(writer, TREE | {"small.py": ["fits"]}), TREE | {"small.py": ["fits"]})
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError("LanceError(IO): Permission denied (os error 13)")]
)
def test_missing_permission_is_reported(store, world, monkeypatch, error):
    world.write(store, TREE)

    def denied(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("lance.dataset", denied)
    with pytest.raises(StoreError) as caught:
        store.open().read_chunks()
    assert "permission" in caught.value.hint
    with pytest.raises(StoreError) as caught:
        world.write(store, TREE)
    assert "permission" in caught.value.hint


def test_uncreatable_directory_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        IndexStore(tmp_path / "file" / "index").open_writer().__enter__()
    assert IndexStore(tmp_path / "file" / "index").read_pointer() is None


def test_failed_cleanup_does_not_fail_the_commit(store, world, monkeypatch, caplog):
    world.write(store, TREE)

    def fail(*_: object) -> None:
        raise StoreError("busy")

    monkeypatch.setattr(lance_table.LanceTable, "delete_versions_except", fail)
    world.check(world.write(store, TREE), TREE)
    assert "busy" in caplog.text


def test_importing_the_store_loads_nothing_heavy():
    code = (
        "import sys; import coderag.stores.index_store, coderag.stores.protocols, coderag.stores.lexical; "
        "heavy = ('pandas', 'lance', 'lancedb', 'llama_index', 'pyarrow', 'scipy', 'filelock'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


_PATHS = st.sampled_from(["a.py", "b/ä.py", "it's", "%", "c\nd"])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), _PATHS, st.lists(st.text("abc \n'", max_size=12), min_size=1, max_size=3)),
        st.tuples(st.just("remove"), st.lists(_PATHS, max_size=3)),
        st.tuples(st.just("commit")),
        st.tuples(st.just("abandon")),
        st.tuples(st.just("reset")),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(steps=_STEPS)
def test_any_sequence_of_changes_matches_a_dictionary(new_world, steps):
    with tempfile.TemporaryDirectory() as directory:
        store, world = IndexStore(Path(directory) / ".coderag"), new_world()
        committed: dict[str, list[str]] = {}
        current: dict[str, list[str]] = {}
        writer = store.open_writer()
        writer.__enter__()
        for step in steps:
            match step:
                case ("add", path, texts):
                    writer.remove([path])
                    world.add(writer, {path: texts})
                    current[path] = texts
                case ("remove", paths):
                    writer.remove(paths)
                    current = {path: texts for path, texts in current.items() if path not in paths}
                case ("commit",):
                    world.check(world.commit(writer, current), current)
                    committed = dict(current)
                case ("reset",):
                    writer.reset()
                    world.terms, current = [], {}
                case _:
                    writer.__exit__(None, None, None)
                    writer, current = store.open_writer(), dict(committed)
                    writer.__enter__()
                    world.terms = []
        writer.__exit__(None, None, None)
        if pointer := read_pointer(store.directory):
            assert pointer.chunks == sum(map(len, committed.values()))
            world.check(store.open(), committed)
