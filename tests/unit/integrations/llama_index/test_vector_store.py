"""The LlamaIndex vector store: our schema, cosine, and filters in which nothing is read as SQL."""

import numpy as np
import pytest
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from coderag.errors import IndexModelError, StoreError
from coderag.integrations.llama_index.vector_store import ChunkVectorStore, build_filter_clause
from coderag.stores import sql

TREE = {
    "it's.py": ["alpha", "beta"],
    "b%_\\.py": ["gamma"],
    'ünï\n"x".py': ["delta", "epsilon", "zeta"],
    "x' OR '1'='1": ["eta"],
}
Op = FilterOperator


@pytest.fixture
def nodes(world):
    plain = world.nodes(TREE)
    return [
        TextNode(
            id_=node.node_id,
            text=node.text,
            metadata=node.metadata,
            embedding=vector.tolist(),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=node.metadata["path"])},
        )
        for node, vector in zip(plain, world.vectors(plain), strict=True)
    ]


@pytest.fixture
def vectors(tmp_path, nodes):
    made = ChunkVectorStore(tmp_path / "lance")
    assert made.add(nodes) == [node.node_id for node in nodes]
    return made


def ask(vectors, nodes, *filters, condition=FilterCondition.AND, **kwargs):
    query = VectorStoreQuery(
        query_embedding=nodes[0].embedding,
        similarity_top_k=kwargs.pop("top_k", 20),
        filters=MetadataFilters(filters=list(filters), condition=condition) if filters else None,
        **kwargs,
    )
    return vectors.query(query)


def one(key, operator, value):
    return MetadataFilter(key=key, operator=operator, value=value)


def texts(result):
    return {node.text for node in result.nodes}


def test_nodes_come_back_whole_with_their_cosine(vectors, nodes):
    result = ask(vectors, nodes, top_k=3)
    matrix = np.array([node.embedding for node in nodes])
    cosines = matrix @ matrix[0]
    order = np.argsort(-cosines)[:3]
    assert result.ids == [nodes[row].node_id for row in order]
    np.testing.assert_allclose(result.similarities, cosines[order], atol=1e-6)
    for node, row in zip(result.nodes, order, strict=True):
        assert (node.text, node.metadata, node.ref_doc_id) == (
            nodes[row].text,
            nodes[row].metadata,
            nodes[row].ref_doc_id,
        )


def test_an_empty_result_is_empty(tmp_path, vectors, nodes):
    for result in (
        ask(vectors, nodes, one("path", Op.EQ, "no such file")),
        ask(ChunkVectorStore(tmp_path / "other"), nodes),
        ask(vectors, nodes, top_k=0),
        vectors.query(VectorStoreQuery(query_embedding=[0.0] * 8, similarity_top_k=3)),
    ):
        assert result.nodes == result.similarities == result.ids == []
    assert ChunkVectorStore(tmp_path / "other").get_nodes() == []


def test_a_table_is_found_again(tmp_path, vectors, nodes):
    again = ChunkVectorStore(tmp_path / "lance")
    assert texts(ask(again, nodes)) == {node.text for node in nodes}
    assert again.class_name() == "ChunkVectorStore"
    assert again.add([]) == []


@pytest.mark.parametrize("path", TREE)
def test_any_path_can_be_filtered_and_deleted(vectors, nodes, path):
    expected = set(TREE[path])
    assert texts(ask(vectors, nodes, one("path", Op.EQ, path))) == expected
    assert texts(ask(vectors, nodes, one("path", Op.IN, [path]))) == expected
    assert texts(ask(vectors, nodes, one("path", Op.TEXT_MATCH, path))) == expected
    assert texts(ask(vectors, nodes, doc_ids=[path])) == expected
    vectors.delete(path)
    assert texts(ask(vectors, nodes)) == {node.text for node in nodes} - expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([("start_line", Op.EQ, 2)], {"beta", "epsilon"}),
        ([("start_line", Op.NE, 1)], {"beta", "epsilon", "zeta"}),
        ([("start_line", Op.GT, 2)], {"zeta"}),
        ([("start_line", Op.GTE, 2)], {"beta", "epsilon", "zeta"}),
        ([("start_line", Op.LT, 2.5), ("start_line", Op.GT, 1.5)], {"beta", "epsilon"}),
        ([("start_line", Op.LTE, 1)], {"alpha", "gamma", "delta", "eta"}),
        ([("start_byte", Op.GT, 2**31 + 2)], {"zeta"}),
        ([("start_line", Op.IN, [2, 3])], {"beta", "epsilon", "zeta"}),
        ([("start_line", Op.NIN, [2, 3])], {"alpha", "gamma", "delta", "eta"}),
        ([("start_line", Op.IN, [])], set()),
        ([("start_line", Op.IS_EMPTY, None)], set()),
        ([("path", Op.NIN, list(TREE)[1:])], {"alpha", "beta"}),
        ([("text", Op.NE, "alpha"), ("path", Op.EQ, "it's.py")], {"beta"}),
        ([("text", Op.TEXT_MATCH, "et")], {"beta", "zeta", "eta"}),
        ([("text", Op.TEXT_MATCH, "%")], set()),
        ([("text", Op.TEXT_MATCH_INSENSITIVE, "ETA")], {"beta", "zeta", "eta"}),
        ([("text", Op.CONTAINS, "psilo")], {"epsilon"}),
        ([("path", Op.TEXT_MATCH, "_")], {"gamma"}),
        ([("path", Op.TEXT_MATCH, "\\")], {"gamma"}),
        ([("summary", Op.IS_EMPTY, None), ("text", Op.EQ, "eta")], {"eta"}),
        ([("calls", Op.CONTAINS, "g")], {"beta", "epsilon"}),
        ([("calls", Op.ANY, ["x", "g"])], {"beta", "epsilon"}),
        ([("calls", Op.NIN, ["x", "g"])], {"alpha", "gamma", "delta", "eta", "zeta"}),
        ([("imports", Op.ALL, ["os", "näme"]), ("text", Op.EQ, "eta")], {"eta"}),
        ([("imports", Op.ALL, ["os", "it's"])], set()),
        ([("calls", Op.IS_EMPTY, None)], {"alpha", "gamma", "delta", "eta", "zeta"}),
        ([("imports", Op.IS_EMPTY, None)], set()),
    ],
)
def test_operators(vectors, nodes, filters, expected):
    assert texts(ask(vectors, nodes, *(one(*parts) for parts in filters))) == expected


def test_conditions_nest(vectors, nodes):
    beta, gamma, line_2 = one("text", Op.EQ, "beta"), one("text", Op.EQ, "gamma"), one("start_line", Op.EQ, 2)
    assert texts(ask(vectors, nodes, beta, gamma, condition=FilterCondition.OR)) == {"beta", "gamma"}
    either = MetadataFilters(filters=[beta, gamma], condition=FilterCondition.OR)
    assert texts(ask(vectors, nodes, either, line_2)) == {"beta"}
    none_of = MetadataFilters(filters=[beta, gamma], condition=FilterCondition.NOT)
    assert texts(ask(vectors, nodes, none_of, line_2)) == {"epsilon"}
    assert build_filter_clause(MetadataFilters(filters=[MetadataFilters(filters=[])])) is None


@pytest.mark.parametrize(
    "parts",
    [
        ("1=1 OR path", Op.EQ, "x"),
        ("vector", Op.EQ, "x"),
        ("symbols", Op.CONTAINS, "x"),
        ("path", Op.EQ, 3),
        ("path", Op.EQ, None),
        ("path", Op.IN, "x"),
        ("path", Op.IN, [1]),
        ("path", Op.TEXT_MATCH, 1),
        ("path", Op.ALL, ["x"]),
        ("start_line", Op.EQ, "1"),
        ("start_line", Op.GT, [1]),
        ("start_line", Op.TEXT_MATCH, "1"),
        ("calls", Op.EQ, "g"),
        ("calls", Op.CONTAINS, 1),
    ],
)
def test_filters_that_make_no_sense_are_refused(vectors, nodes, parts):
    with pytest.raises(StoreError, match="cannot be filtered"):
        ask(vectors, nodes, one(*parts))


def test_a_filter_may_be_given_as_sql(vectors, nodes):
    query = VectorStoreQuery(query_embedding=nodes[0].embedding, similarity_top_k=9, node_ids=[nodes[1].node_id])
    assert texts(vectors.query(query, where="start_line = 2")) == {"beta"}
    assert texts(vectors.query(query, where=sql.build_in_filter("start_line", []))) == set()
    with pytest.raises(StoreError):
        vectors.query(query, where="start_line = ")


def test_other_query_modes_are_refused(vectors):
    with pytest.raises(StoreError, match="hybrid"):
        vectors.query(VectorStoreQuery(query_embedding=[1.0] * 8, mode=VectorStoreQueryMode.HYBRID))
    with pytest.raises(StoreError):
        vectors.query(VectorStoreQuery(query_str="words"))


def test_nodes_can_be_fetched_and_deleted_by_id_and_filter(vectors, nodes):
    ids = [node.node_id for node in nodes]
    assert {node.text for node in vectors.get_nodes(ids[:2])} == {"alpha", "beta"}
    line_2 = MetadataFilters(filters=[one("start_line", Op.EQ, 2)])
    assert {node.text for node in vectors.get_nodes(ids[:2], line_2)} == {"beta"}
    assert len(vectors.get_nodes()) == 7
    vectors.delete_nodes()
    vectors.delete_nodes([])
    vectors.delete_nodes(ids[:2], line_2)
    assert len(vectors.get_nodes()) == 6
    vectors.delete_nodes([ids[0], "it's not there"])
    vectors.delete_nodes(filters=line_2)
    assert {node.text for node in vectors.get_nodes()} == {"gamma", "delta", "zeta", "eta"}
    vectors.clear()
    assert vectors.get_nodes() == []


def test_embeddings_must_fit(vectors, nodes):
    nodes[0].embedding = [1.0] * 5
    with pytest.raises(IndexModelError):
        vectors.add(nodes[:1])
    with pytest.raises((IndexModelError, ValueError)):
        vectors.add(nodes[:2])


def test_unknown_metadata_is_refused(vectors, nodes):
    nodes[0].metadata["colour"] = "red"
    with pytest.raises(StoreError, match="colour"):
        vectors.add(nodes[:1])


def test_a_generation_is_read_only_and_stays_what_it_was(store, world):
    snapshot = world.write(store, TREE)
    world.write(store, {"z": ["later"]})
    vectors = ChunkVectorStore.from_snapshot(snapshot)
    assert {node.text for node in vectors.get_nodes()} == {text for members in TREE.values() for text in members}
    query = VectorStoreQuery(query_embedding=snapshot.read_vectors()[1].tolist(), similarity_top_k=1)
    assert vectors.query(query).ids == snapshot.read_chunks(["id"])["id"].to_pylist()[1:2]
    for change in (lambda: vectors.delete("it's.py"), vectors.clear, lambda: vectors.add([TextNode()])):
        with pytest.raises(StoreError, match="one generation"):
            change()


def test_a_missing_table_of_a_generation_is_reported(tmp_path):
    with pytest.raises(StoreError, match="no table"):
        ChunkVectorStore(tmp_path / "none", version=3)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_compare_with_nothing_are_refused(value):
    with pytest.raises(ValueError, match="is not valid in a filter"):
        sql.quote_literal(value)
