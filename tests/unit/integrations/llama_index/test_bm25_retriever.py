"""The LlamaIndex BM25 retriever over an index of ours."""

import numpy as np
import pytest

from coderag.integrations.llama_index.bm25_retriever import LexicalRetriever
from coderag.stores.lexical import compute_bm25_weights


@pytest.fixture
def snapshot(store, world):
    return world.write(store, {"a.py": ["pars request", "request"], "b.py": ["user password", "request request pars"]})


def test_the_retriever_finds_identifiers_and_returns_whole_nodes(snapshot, world):
    found = LexicalRetriever(snapshot, similarity_top_k=10).retrieve("where is parseRequest parsed")
    assert {hit.node.text for hit in found} == {"pars request", "request", "request request pars"}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    best = found[0].node
    assert best.metadata == world.metadata(best.metadata["path"], best.metadata["start_line"], best.text)
    assert best.ref_doc_id == best.metadata["path"]


def test_the_retriever_returns_nothing_for_unknown_words_and_obeys_limit_and_mask(snapshot):
    assert LexicalRetriever(snapshot).retrieve("zebra") == []
    assert len(LexicalRetriever(snapshot, similarity_top_k=1).retrieve("request")) == 1
    mask = np.array([True, False, False, False])
    assert [hit.node.text for hit in LexicalRetriever(snapshot, mask=mask).retrieve("request")] == ["pars request"]


def test_the_retriever_takes_other_weights_and_an_empty_index(snapshot, store, world):
    names = compute_bm25_weights(snapshot.read_counts().names)
    assert LexicalRetriever(snapshot, index=names).retrieve("password")[0].node.text == "user password"
    with store.open_writer() as writer:
        writer.reset()
        empty = world.commit(writer, {})
    assert LexicalRetriever(empty).retrieve("password") == []
