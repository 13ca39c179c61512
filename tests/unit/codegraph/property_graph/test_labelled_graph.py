import pytest

from coderag.codegraph.property_graph.labelled_graph import LabelledGraph
from coderag.codegraph.property_graph.schema import LABEL_BY_KIND, TYPE_BY_RELATION
from coderag.schema.vocabulary import EdgeRelation, Kind
from tests.support.graph_tables import make_tables
from tests.support.shop_graph import shop_graph


def read_rows(graph):
    return {label: table.to_pylist() for label, table in graph.group_nodes()}


def read_edges(graph):
    return {
        (row["source"].partition(":")[2], group.type, row["target"].partition(":")[2])
        for group in graph.group_edges()
        for row in group.rows.to_pylist()
    }


def test_node_label_follows_its_kind():
    files = {
        "a.rs": [
            ("Point", "struct", 1, 1),
            ("Point.x", "field", 1, 1),
            ("Shape", "trait", 2, 2),
            ("go", "macro", 3, 3),
            ("m", "namespace", 4, 4),
        ]
    }
    labels = read_rows(LabelledGraph(make_tables(files, (), ["serde"]), "p"))
    assert {label: [row["name"] for row in of_label] for label, of_label in labels.items()} == {
        "Project": ["p"],
        "File": ["a.rs"],
        "Class": ["Point", "Shape"],
        "Function": ["go"],
        "Symbol": ["x", "m"],
        "Import": ["serde"],
    }


@pytest.mark.parametrize("kind", LABEL_BY_KIND)
def test_labelled_kinds_exist(kind):
    assert kind in (*Kind.__args__, "file", "external")


def test_every_relation_has_a_type():
    assert set(TYPE_BY_RELATION) == set(EdgeRelation.__args__)


def test_ids_are_unique_and_readable():
    files = {
        "a.py": [("f", "function", 1, 1), ("f", "function", 2, 2), ("f#2", "function", 3, 3)],
        "a.py::f": [],
        'b".py': [("f", "function", 1, 1)],
    }
    graph = LabelledGraph(make_tables(files, (), ["a.py"]), "p")
    ids = [row["id"] for of_label in read_rows(graph).values() for row in of_label]
    assert len(set(ids)) == len(ids) == 9
    assert {"p", "p:a.py", "p:a.py::f", "p:a.py::f#2", "p:b'.py::f"} <= set(ids)


def test_containment_type_depends_on_labels():
    files = {
        "a.py": [
            ("C", "class", 1, 9),
            ("C.m", "method", 2, 3),
            ("C.D", "class", 4, 5),
            ("C.m.inner", "function", 3, 3),
            ("f", "function", 10, 10),
        ]
    }
    tables = make_tables(files)
    assert read_edges(LabelledGraph(tables, "p")) == {
        ("", "CONTAINS", "a.py"),
        ("a.py", "DEFINES", "a.py::C"),
        ("a.py", "DEFINES", "a.py::f"),
        ("a.py::C", "DEFINES_METHOD", "a.py::C.m"),
        ("a.py::C", "CONTAINS", "a.py::C.D"),
        ("a.py::C.m", "CONTAINS", "a.py::C.m.inner"),
    }


def test_edges_keep_evidence_and_candidates_are_omitted():
    graph = LabelledGraph(shop_graph(), "shop")
    [calls] = [
        group.rows.to_pylist()
        for group in graph.group_edges()
        if (group.type, group.source_label, group.target_label) == ("CALLS", "Method", "Method")
    ]
    assert [(row["line"], row["resolver"], round(row["confidence"], 3)) for row in calls] == [
        (5, "scope", 0.9),
        (7, "scope", 0.9),
    ]
    assert graph.n_edges == sum(group.rows.num_rows for group in graph.group_edges()) == 18 + 13 + 5
    assert LabelledGraph(shop_graph(), "shop", min_confidence=0.0).n_edges == graph.n_edges + 1
    assert graph.n_nodes == 21


def test_empty_repository_has_a_project_node():
    graph = LabelledGraph(make_tables({}), "p")
    assert list(read_rows(graph)) == ["Project"]
    assert read_edges(graph) == set()
