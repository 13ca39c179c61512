"""CodeRAG as a retriever of LlamaIndex."""

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from coderag import CodeRAG, Filters, as_retriever
from coderag.errors import IndexNotFoundError

QUESTION = "where is hash_password defined"


def test_results_are_nodes_with_scores_best_first(repository):
    nodes = as_retriever(repository).retrieve(QUESTION)
    hits = CodeRAG(repository).search(QUESTION)
    assert [(one.node.metadata["path"], one.score, one.node.text) for one in nodes] == [
        (str(hit.path), hit.score, hit.text) for hit in hits
    ]
    assert len({one.node.node_id for one in nodes}) == len(nodes)


def test_a_model_sees_where_the_code_is(repository):
    node = as_retriever(repository).retrieve(QUESTION)[0].node
    lines = node.get_content("llm").splitlines()
    assert lines[:4] == ["path: auth/passwords.py", "start_line: 1", "end_line: 3", "name: hash_password"]
    assert "score" not in node.get_content("llm")
    assert node.metadata["evidence"] == "found"


def test_it_keeps_to_a_number_and_to_filters(repository):
    assert len(as_retriever(repository, top_k=1).retrieve(QUESTION)) == 1
    only = as_retriever(repository, filters=Filters(languages=("javascript",))).retrieve("total of a cart")
    assert {one.node.metadata["path"] for one in only} == {"web/cart.js"}


async def test_it_can_be_awaited(repository):
    retriever = as_retriever(repository)
    assert [one.node.node_id for one in await retriever.aretrieve(QUESTION)] == [
        one.node.node_id for one in retriever.retrieve(QUESTION)
    ]


def test_a_query_engine_answers_from_it(repository):
    engine = RetrieverQueryEngine.from_args(as_retriever(repository, top_k=1), llm=MockLLM())
    reply = engine.query(QUESTION)
    assert "def hash_password(secret):" in str(reply)
    assert reply.source_nodes[0].node.metadata["name"] == "hash_password"


def test_it_indexes_first_if_told_to(unindexed):
    with pytest.raises(IndexNotFoundError, match="index=True"):
        as_retriever(unindexed).retrieve(QUESTION)
    assert as_retriever(unindexed, index=True).retrieve(QUESTION)[0].node.metadata["name"] == "hash_password"
