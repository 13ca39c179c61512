import pyarrow as pa
import pytest

from coderag.codegraph.scip.imported_edges import ImportedEdges, apply_edges
from coderag.codegraph.scip.importer import import_edges
from coderag.errors import StoreError
from coderag.stores.graph_tables import build_edge_schema
from tests.support.graph_tables import make_tables
from tests.support.scip_index import DEFINITION, ScipDocument, ScipIndex, symbol

FILES = {
    "a.py": [("Child", "class", 1, 4), ("Child.run", "method", 2, 4), ("main", "function", 6, 9)],
    "b.py": [
        ("Base", "class", 1, 3),
        ("Base.run", "method", 2, 3),
        ("Other", "class", 5, 7),
        ("Other.run", "method", 6, 7),
    ],
    "c.py": [("late", "function", 1, 2)],
}
LINKED = [
    ("a.py", "imports", "b.py", 1),
    ("Child", "inherits", "Other", 1),
    ("Child.run", "overrides", "Other.run", 2),
    ("Child.run", "calls", "Other.run", 3),
    ("Child.run", "references", "Other", 4),
    ("main", "calls", "late", 7),
    ("main", "calls", "os", 8),
    ("main", "tests", "Child", 9),
    ("late", "calls", "main", 2),
]
BASE, RUN, CHILD, CHILD_RUN, MAIN = (
    symbol(name) for name in ("Base#", "Base#run().", "Child#", "Child#run().", "main().")
)
INDEX = ScipIndex(
    [
        ScipDocument(
            "a.py",
            [
                (1, 6, 5, CHILD, DEFINITION),
                (2, 8, 3, CHILD_RUN, DEFINITION),
                (3, 8, 3, RUN),
                (6, 4, 4, MAIN, DEFINITION),
            ],
            [(CHILD, BASE, "implementation"), (CHILD_RUN, RUN, "implementation")],
        ),
        ScipDocument("b.py", [(1, 6, 4, BASE, DEFINITION), (2, 8, 3, RUN, DEFINITION)]),
    ]
)
HASHES = {"a.py": "1", "b.py": "2", "c.py": "3"}


@pytest.fixture
def imported_edges(tmp_path):
    path = tmp_path / "index.scip"
    path.write_bytes(INDEX.to_bytes())
    return import_edges(path, make_tables(FILES, LINKED, ["os"]), HASHES)[0]


def name_ends(tables, edges):
    names = tables.nodes["qualified_name"].to_pylist()
    return [
        (names[row["source"]], row["relation"], names[row["target"]], row["line"], row["resolver"], row["confidence"])
        for row in edges.to_pylist()
    ]


def build_tables(files=FILES, linked=LINKED):
    return make_tables(files, [(*edge, 0.5, "scope") for edge in linked], ["os"])


def test_imported_edges_replace_linked_edges(imported_edges):
    tables = build_tables()
    applied = apply_edges(tables, imported_edges, HASHES)
    assert name_ends(tables, applied.edges) == [
        ("a.py", "imports", "b.py", 1, "scope", 0.5),  # the index says nothing of that line
        ("Child", "inherits", "Base", 1, "scip", 1.0),
        ("Child.run", "calls", "Base.run", 3, "scip", 1.0),
        ("Child.run", "overrides", "Base.run", 2, "scip", 1.0),
        ("main", "calls", "os", 8, "scope", 0.5),  # outside the repository
        ("main", "tests", "Child", 9, "scope", 0.5),
        ("late", "calls", "main", 2, "scope", 0.5),  # of a file that the index does not cover
    ]
    assert applied.edges.schema == build_edge_schema()
    assert (applied.stale, applied.lost) == ((), 0)


def test_applying_twice_is_idempotent(imported_edges):
    tables = build_tables()
    once = apply_edges(tables, imported_edges, HASHES).edges
    assert apply_edges(tables._replace(edges=once), imported_edges, HASHES).edges.to_pylist() == once.to_pylist()


def test_changed_file_keeps_linked_edges_and_is_reported(imported_edges):
    tables = build_tables()
    applied = apply_edges(tables, imported_edges, {**HASHES, "a.py": "new"})
    assert applied.edges.to_pylist() == tables.edges.to_pylist()
    assert applied.stale == ("a.py",)


def test_removed_file_is_reported(imported_edges):
    files = {path: FILES[path] for path in ("b.py", "c.py")}
    applied = apply_edges(build_tables(files, []), imported_edges, {"b.py": "2", "c.py": "3"})
    assert (applied.edges.num_rows, applied.stale, applied.lost) == (0, ("a.py",), 0)


def test_edges_follow_their_ends_when_rows_move(imported_edges):
    files = {"0.py": [("first", "function", 1, 1)], **FILES, "b.py": [("New", "class", 1, 1), *FILES["b.py"]]}
    tables = build_tables(files, [])
    applied = apply_edges(tables, imported_edges, {**HASHES, "b.py": "new"})
    assert [edge[:3] for edge in name_ends(tables, applied.edges)] == [
        ("Child", "inherits", "Base"),
        ("Child.run", "calls", "Base.run"),
        ("Child.run", "overrides", "Base.run"),
    ]
    assert applied.stale == ("b.py",)


def test_edge_without_its_end_is_dropped_and_counted(imported_edges):
    tables = build_tables({**FILES, "b.py": FILES["b.py"][:1]}, [])
    applied = apply_edges(tables, imported_edges, {**HASHES, "b.py": "new"})
    assert [edge[:3] for edge in name_ends(tables, applied.edges)] == [("Child", "inherits", "Base")]
    assert applied.lost == 2


def test_imported_edges_round_trip(imported_edges):
    read = ImportedEdges.from_bytes(imported_edges.to_bytes())
    assert read.edges.equals(imported_edges.edges)
    assert read.files == imported_edges.files == {"a.py": "1", "b.py": "2"}


def build_foreign_table():
    sink = pa.BufferOutputStream()
    table = pa.table({"x": [1]})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("stored", [b"", b"nothing", build_foreign_table()], ids=["empty", "text", "another table"])
def test_damaged_file_raises_with_a_hint(stored):
    with pytest.raises(StoreError, match="imported edges are damaged") as caught:
        ImportedEdges.from_bytes(stored)
    assert caught.value.hint == "Import the SCIP index again."


def test_imported_name_keeps_the_file_import(imported_edges):
    edges = imported_edges.edges.to_pylist()
    place = {"source_path": "a.py", "source_name": "", "source_nth": 0, "line": 1}
    base = {"target_path": "b.py", "target_name": "Base", "target_nth": 0}
    more = ImportedEdges(
        pa.Table.from_pylist([*edges, {"relation": "imports", **place, **base}], imported_edges.edges.schema),
        imported_edges.files,
    )
    tables = build_tables(linked=[("a.py", "imports", "b.py", 1), ("a.py", "imports", "Other", 1)])
    applied = apply_edges(tables, more, HASHES)
    assert [edge[2] for edge in name_ends(tables, applied.edges) if edge[1] == "imports"] == ["b.py", "Base"]
