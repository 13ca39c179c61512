"""The documented Cypher queries, run as they stand in docs/graph-export.md."""

import re
from pathlib import Path

import pytest

from coderag.errors import InvalidQueryError, StoreError
from tests.support.shop_graph import HOSTILE, shop_graph

pytest.importorskip("ladybug", reason="the extra graph-cypher is not installed")

from llama_index.core.graph_stores.types import EntityNode, Relation

from coderag.codegraph.export.cypher import stream_cypher
from coderag.codegraph.property_graph.embedded_store import EmbeddedPropertyGraphStore
from coderag.codegraph.property_graph.store import open_embedded_graph

PAGE = Path(__file__).parents[2] / "docs" / "graph-export.md"
QUERIES = dict(
    re.findall(r"^### (.+?)\n.*?^```cypher\n(.+?)^```", PAGE.read_text("utf-8").partition("## Queries")[2], re.M | re.S)
)

ANSWERS = {
    "Functions that nothing calls": [("shop/cart.py", "unused")],
    "Classes with the most subclasses": [("Item", 1), ("Priced", 1)],
    "Import cycles of two files": [("shop/cart.py", "shop/item.py")],
    "Who calls it, within two steps": [("shop/cart.py", "Cart.total"), ("shop/item.py", "Item.cost")],
    "What may break if it changes": [("shop/cart.py", "Cart.add"), ("shop/gift.py", "Gift")],
    "Methods that replace an inherited one": [("Gift", "cost", "Item")],
    "Functions and methods without a test": [
        ("shop/cart.py", "Cart.add"),
        ("shop/cart.py", "main"),
        ("shop/cart.py", "unused"),
        ("shop/gift.py", "Gift.cost"),
        ("shop/item.py", "Item.cost"),
        ("shop/item.py", "price"),
    ],
    "Packages, by how many files import them": [("json", 2), ("decimal", 1)],
    "Documents that name a declaration": [("guide.md", 4, "Cart")],
}


@pytest.fixture
def store():
    opened = open_embedded_graph(shop_graph(), "shop")
    yield opened
    opened.close()


@pytest.mark.parametrize("title", QUERIES)
def test_a_documented_query_gives_its_answer(store, title):
    assert [tuple(row.values()) for row in store.structured_query(QUERIES[title])] == ANSWERS[title]


def test_every_documented_query_has_an_expected_answer():
    assert QUERIES.keys() == ANSWERS.keys()


def test_the_project_contains_its_files_and_they_define_what_stands_in_them(store):
    found = store.structured_query(
        "MATCH (p:Project)-[:CONTAINS]->(f:File)-[:DEFINES]->(c:Class)-[:DEFINES_METHOD]->(m:Method) "
        "RETURN p.name AS project, f.path AS path, c.name AS class, m.name AS method ORDER BY path, class, method"
    )
    assert [tuple(row.values()) for row in found] == [
        ("shop", "shop/cart.py", "Cart", "add"),
        ("shop", "shop/cart.py", "Cart", "total"),
        ("shop", "shop/gift.py", "Gift", "cost"),
        ("shop", "shop/item.py", "Item", "cost"),
    ]


def test_what_is_only_a_candidate_is_no_edge(store):
    count = "MATCH (:Method {qualified_name: 'Cart.total'})-[:CALLS]->(m) RETURN count(*) AS calls"
    assert store.structured_query(count) == [{"calls": 2}]
    with_candidates = open_embedded_graph(shop_graph(), "shop", min_confidence=0.0)
    assert with_candidates.structured_query(count) == [{"calls": 3}]
    with_candidates.close()


def test_a_query_takes_parameters_and_returns_nodes_as_their_properties(store):
    [row] = store.structured_query("MATCH (s:Symbol {name: $name}) RETURN s", {"name": HOSTILE})
    assert row["s"]["_label"] == "Symbol"
    assert (row["s"]["path"], row["s"]["kind"], row["s"]["start_line"]) == ("shop/item.py", "constant", 14)


@pytest.mark.parametrize("query", ["MATC (n) RETURN n", "MATCH (n:Nothing) RETURN n", "MATCH (n) RETURN n.nothing"])
def test_a_query_that_cannot_be_run_is_told_with_the_reason(store, query):
    with pytest.raises(InvalidQueryError, match="Cannot run the query"):
        store.structured_query(query)


def test_nodes_are_found_by_id_and_by_property(store):
    [node] = store.get(ids=["shop:shop/item.py::price"])
    assert (node.id, node.label) == ("shop:shop/item.py::price", "Function")
    assert node.properties["centrality"] == 1.0
    assert [one.properties["qualified_name"] for one in store.get({"name": "cost"})] == ["Gift.cost", "Item.cost"]
    assert len(store.get()) == 21


def test_triplets_are_the_relationships_of_a_node(store):
    found = store.get_triplets(ids=["shop:shop/item.py::Item"], relation_names=["EXTENDS", "IMPLEMENTS"])
    assert [(a.properties["name"], r.label, b.properties["name"]) for a, r, b in found] == [
        ("Gift", "EXTENDS", "Item"),
        ("Item", "IMPLEMENTS", "Priced"),
    ]
    assert found[1][1].properties == {"resolver": "scope", "confidence": pytest.approx(0.9), "line": 5}
    assert store.get_triplets() == []


def test_a_map_of_relations_goes_as_deep_as_asked(store):
    start = store.get(ids=["shop:shop/item.py::price"])
    ignored = ["DEFINES", "DEFINES_METHOD", "CONTAINS", "OVERRIDES"]
    near = store.get_rel_map(start, depth=1, ignore_rels=ignored)
    assert [(a.properties["name"], b.properties["name"]) for a, _, b in near] == [("cost", "price")]
    further = store.get_rel_map(start, depth=2, ignore_rels=ignored)
    assert [(a.properties["name"], r.properties["line"]) for a, r, b in further] == [
        ("cost", 7),
        ("total", 5),
        ("total", 7),
    ]
    assert store.get_rel_map(start, depth=2, limit=1, ignore_rels=ignored) == near


def test_nodes_and_relations_are_added_changed_and_deleted(store):
    new = EntityNode(name="shop:new", label="Function", properties={"name": "new", "path": "new.py", "start_line": 1})
    store.upsert_nodes([new])
    store.upsert_nodes([new.model_copy(update={"properties": {"start_line": 2}})])
    [read] = store.get(ids=["shop:new"])
    assert read.properties == {"name": "new", "path": "new.py", "start_line": 2}
    call = Relation(label="CALLS", source_id="shop:shop/cart.py::Cart", target_id="shop:new", properties={"line": 3})
    store.upsert_relations([call])
    store.upsert_relations([call.model_copy(update={"properties": {"line": 4}})])
    assert [r.properties for _, r, _ in store.get_triplets(ids=["shop:new"])] == [{"line": 4}]
    store.delete(ids=["shop:new"])
    assert store.get(ids=["shop:new"]) == []
    store.delete(relation_names=["CALLS"])
    assert store.get_triplets(relation_names=["CALLS"]) == []
    store.delete(properties={"name": "price"})
    assert store.get({"name": "price"}) == []


def test_what_is_not_in_the_schema_is_refused(store):
    known = "shop:shop/item.py::price"
    with pytest.raises(InvalidQueryError, match="no label 'Person'"):
        store.upsert_nodes([EntityNode(name="x", label="Person")])
    with pytest.raises(InvalidQueryError, match="no property 'age: 1} //'"):
        store.upsert_nodes([EntityNode(name="x", label="Class", properties={"age: 1} //": 1})])
    with pytest.raises(InvalidQueryError, match="no type of relationship 'KNOWS'"):
        store.upsert_relations([Relation(label="KNOWS", source_id=known, target_id=known)])
    with pytest.raises(InvalidQueryError, match="no node has the id 'nowhere'"):
        store.upsert_relations([Relation(label="CALLS", source_id=known, target_id="nowhere")])


def test_a_graph_in_a_file_is_there_when_it_is_opened_again(tmp_path):
    path = tmp_path / "graph.lbug"
    open_embedded_graph(shop_graph(), "shop", path).close()
    reopened = EmbeddedPropertyGraphStore(path)
    assert len(reopened.get()) == 21
    reopened.upsert_relations(
        [Relation(label="CALLS", source_id="shop:guide.md", target_id="shop:shop/item.py::price")]
    )
    reopened.close()


def test_a_file_that_is_no_database_is_an_error(tmp_path):
    (tmp_path / "notes.txt").write_bytes(b"notes" * 2000)
    with pytest.raises(StoreError, match="Cannot open the property graph"):
        open_embedded_graph(shop_graph(), "shop", tmp_path / "notes.txt")


def test_the_schema_names_labels_properties_and_what_is_connected(store):
    schema = store.get_schema_str()
    assert "(:Class {id: STRING, project: STRING, kind: STRING" in schema
    assert "(:Method)-[:OVERRIDES {resolver: STRING, confidence: FLOAT, line: INT32}]->(:Method)" in schema


def test_the_cypher_file_makes_the_same_graph(store):
    text = b"".join(stream_cypher(shop_graph(), "shop")).decode()
    made = EmbeddedPropertyGraphStore()
    pairs = store.structured_query("MATCH (a)-[r]->(b) RETURN DISTINCT label(r) AS type, label(a) AS a, label(b) AS b")
    for row in pairs:
        if (row["a"], row["b"]) != ("File", "File"):  # that pair every type has
            made.structured_query(f"ALTER TABLE {row['type']} ADD FROM {row['a']} TO {row['b']}")
    for statement in text.split(";\n"):
        if statement.startswith(("UNWIND", "MATCH")):
            made.structured_query(statement)
    everything = "MATCH (a)-[r]->(b) RETURN a, r, b ORDER BY a.id, label(r), b.id, r.line"
    assert made.structured_query(everything) == store.structured_query(everything)
    assert made.get() == store.get()
    made.close()
