"""Tables of the code graph as part of a generation."""

import errno
import shutil
from dataclasses import replace
from datetime import timedelta

import lance
import pytest

from coderag.errors import StorageFullError, StoreError
from coderag.stores import index_writer, retention
from coderag.stores.graph_tables import GRAPH_TABLES, GraphTables, build_empty_graph
from coderag.stores.index_store import IndexStore
from coderag.stores.pointer import write_pointer
from tests.support.graph_tables import make_tables
from tests.support.programs import build


def _graph(number: int = 1) -> GraphTables:
    functions = [(f"f{n}", "function", n, n) for n in range(1, number + 1)]
    return make_tables({"a.py": functions}, [("a.py", "calls", f"f{n}") for n in range(1, number + 1)])


def _commit(store: IndexStore, world: object, graph: GraphTables | None, **arguments: object):
    with store.open_writer() as writer:
        return world.commit(writer, {}, build_graph=(lambda: graph) if graph else None, **arguments)  # type: ignore[attr-defined]


def test_graph_survives_a_round_trip(store, world):
    graph = build({"a.py": "from b import f\nf()\n", "b.py": "def f(): pass\n"})
    committed = _commit(store, world, graph)
    for snapshot in (committed, store.open()):
        assert snapshot.read_graph().nodes.equals(graph.nodes)
        assert snapshot.read_graph().edges.equals(graph.edges)
        assert snapshot.read_facts().to_pylist() == graph.facts.to_pylist()
        assert snapshot.read_graph().facts.num_rows == 0
    assert store.read_pointer().edges == len(graph.edges)


def test_empty_graph_survives_a_round_trip(store, world):
    _commit(store, world, build_empty_graph())
    assert [len(table) for table in store.open().read_graph()] == [0, 0, 0]
    assert store.open().read_graph().nodes.schema == build_empty_graph().nodes.schema


def test_generation_without_a_graph_has_an_empty_one(store, world):
    _commit(store, world, None)
    _commit(store, world, _graph())
    snapshot = _commit(store, world, None)
    assert snapshot.read_graph() == build_empty_graph()
    assert snapshot.read_facts().num_rows == 0
    assert store.read_pointer().edges == 0
    assert len(_commit(store, world, _graph(3)).read_graph().edges) == 3


def test_pointer_of_an_earlier_version_has_no_graph(store, world):
    _commit(store, world, _graph())
    pointer = store.read_pointer()
    write_pointer(
        store.directory, replace(pointer, tables={name: pointer.tables[name] for name in ("chunks", "files")})
    )
    assert store.open().read_graph() == build_empty_graph()
    assert len(_commit(store, world, _graph(2)).read_graph().edges) == 2


def test_a_reader_keeps_its_graph_while_a_writer_commits(store, world):
    _commit(store, world, _graph(1))
    reader = store.open()
    _commit(store, world, _graph(2))
    assert len(reader.read_graph().edges) == 1
    assert len(store.open().read_graph().edges) == 2


def test_failing_graph_builder_keeps_the_current_generation(store, world):
    def failing():
        raise KeyboardInterrupt

    _commit(store, world, _graph(1))
    with pytest.raises(KeyboardInterrupt), store.open_writer() as writer:
        world.add(writer, {"a.py": ["x"]})
        world.commit(writer, {"a.py": ["x"]}, build_graph=failing)
    world.check(store.open(), {})
    assert len(store.open().read_graph().edges) == 1
    with store.open_writer() as writer:
        world.terms = []
        world.add(writer, {"b.py": ["y"]})
        world.check(world.commit(writer, {"b.py": ["y"]}, build_graph=lambda: _graph(2)), {"b.py": ["y"]})


def test_full_disk_during_sync_keeps_the_current_generation(store, world, monkeypatch):
    def full(paths):
        raise OSError(errno.ENOSPC, "No space left on device")

    _commit(store, world, _graph(1))
    monkeypatch.setattr(index_writer, "sync_all", full)
    with pytest.raises(StorageFullError):
        _commit(store, world, _graph(2))
    assert len(store.open().read_graph().edges) == 1


def test_leaving_without_a_commit_keeps_the_graph(store, world):
    _commit(store, world, _graph(1))
    with store.open_writer():
        pass
    assert len(store.open().read_graph().edges) == 1


def test_unreferenced_versions_are_deleted(store, world, monkeypatch):
    monkeypatch.setattr(retention, "RETENTION_PERIOD", timedelta(0))
    for number in range(1, 5):
        _commit(store, world, _graph(number))
    pointer = store.read_pointer()
    for name in GRAPH_TABLES:
        versions = {
            version["version"] for version in lance.dataset(str(store.directory / f"v1/lance/{name}.lance")).versions()
        }
        assert versions == {pointer.tables[name], pointer.retained[0].tables[name]}


def test_graph_of_a_killed_writer_is_not_read(store, world, monkeypatch):
    _commit(store, world, _graph(1))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(index_writer, "write_pointer", die)
        _commit(store, world, _graph(2))
    assert len(store.open().read_graph().edges) == 1
    assert len(_commit(store, world, _graph(3)).read_graph().edges) == 3
    assert len(store.open().read_graph().nodes) == 4


@pytest.mark.parametrize("name", GRAPH_TABLES)
def test_missing_table_error_has_a_hint(store, world, name):
    _commit(store, world, _graph())
    shutil.rmtree(store.directory / f"v1/lance/{name}.lance")
    snapshot = store.open()
    with pytest.raises(StoreError) as caught:
        snapshot.read_facts() if name == "facts" else snapshot.read_graph()
    assert "coderag index" in caught.value.hint
