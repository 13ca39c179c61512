"""Commits of chunks only: files, graph and everything else stay those of the previous generation."""

import numpy as np
import pytest

from coderag.errors import IndexLockedError, StoreError
from coderag.stores.graph_tables import build_empty_graph

TREE = {"a.py": ["one two", "two three"], "b.py": ["three"], "c.py": ["four"]}


def make_first(world, store):
    with store.open_writer() as writer:
        world.add(writer, TREE)
        return world.commit(writer, TREE, root_hash="root", build_graph=build_empty_graph)


def replace_chunks(world, store, tree, **options):
    with store.open_writer() as writer:
        writer.remove(tree)
        world.add(writer, tree)
        return writer.commit_chunks(**options)


def test_chunks_change_while_files_stay_equal(world, store):
    first = make_first(world, store)
    second = replace_chunks(world, store, {"a.py": ["one two five", "six"]})
    now = {**TREE, "a.py": ["one two five", "six"]}
    world.check(second, now)
    world.check(first, TREE)  # which a reader may still have open
    assert second.pointer.generation == first.pointer.generation + 1
    assert second.read_files() == first.read_files()


def test_unchanged_tables_are_not_rewritten(world, store):
    first = make_first(world, store)
    second = replace_chunks(world, store, {"b.py": ["five"]})
    for name in ("files", "nodes", "edges", "facts"):
        assert second.pointer.tables[name] == first.pointer.tables[name]
    assert second.pointer.tables["chunks"] != first.pointer.tables["chunks"]
    previous = ("root_hash", "embedding", "files", "edges", "chunks")
    assert [getattr(second.pointer, name) for name in previous] == [getattr(first.pointer, name) for name in previous]
    assert second.read_facts().num_rows == 0


def test_commit_chunks_replaces_file_vectors(world, store):
    first = make_first(world, store)
    content, place = first.read_file_vectors()
    second = replace_chunks(world, store, {"b.py": ["five"]}, vectors=(content[::-1].copy(), place))
    np.testing.assert_array_equal(second.read_file_vectors()[0][1:], content[::-1][1:])
    np.testing.assert_array_equal(second.read_file_vectors()[1], place)
    assert second.read_files() == first.read_files()


def test_arrays_are_committed_without_chunks(world, store):
    make_first(world, store)
    with store.open_writer() as writer:
        committed = writer.commit_chunks(arrays={"some": np.arange(3)})
    assert committed.read_arrays()["some"].tolist() == [0, 1, 2]
    world.check(committed, TREE)


def test_terms_of_no_chunk_extend_the_vocabulary(world, store):
    first = make_first(world, store)
    with store.open_writer() as writer:
        writer.add_terms(["two", "new"])
        second = writer.commit_chunks()
    assert second.read_terms() == [*first.read_terms(), "new"]
    world.check(second, TREE)


def test_index_stays_complete_and_old_files_are_deleted_after_many_commits(world, store):
    make_first(world, store)
    for number in range(30):
        replace_chunks(world, store, {"b.py": [f"word{number}"]})
    world.check(store.open(), {**TREE, "b.py": ["word29"]})
    assert len(list((store.directory / "v1").glob("lexical-*"))) <= 10


def test_commit_chunks_requires_a_generation(store):
    with store.open_writer() as writer, pytest.raises(StoreError, match="no generation"):
        writer.commit_chunks()


def test_uncommitted_changes_are_discarded(world, store):
    first = make_first(world, store)
    with store.open_writer() as writer:
        writer.remove(["b.py"])
        world.add(writer, {"b.py": ["five"]})
    assert store.read_pointer() == first.pointer
    world.check(store.open(), TREE)


def test_holder_record_marks_a_brief_writer(world, store, monkeypatch):
    monkeypatch.setattr("coderag.stores.writer_lock._BRIEF_TIMEOUT_S", 0.2)
    make_first(world, store)
    with store.open_writer(is_brief=True), pytest.raises(IndexLockedError), store.open_writer():
        pass  # waited a fifth of a second in vain
    with store.open_writer():
        pass
