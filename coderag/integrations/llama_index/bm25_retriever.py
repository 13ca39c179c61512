"""LlamaIndex's BM25 retriever over our terms. Imports LlamaIndex (2 s); `coderag.stores.lexical` does not."""

from typing import Any

import bm25s
import numpy as np
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.constants import DEFAULT_SIMILARITY_TOP_K
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.retrievers.bm25 import BM25Retriever
from numpy.typing import NDArray

from coderag.integrations.llama_index.text_nodes import to_text_nodes
from coderag.stores.lexical import DOCS_WEIGHT, K1, NAMES_WEIGHT, B, LexicalIndex, compute_bm25_weights
from coderag.stores.protocols import IndexSnapshot
from coderag.stores.snapshot import CHUNK_COLUMNS
from coderag.text.tokenizer import tokenize_query


class LexicalRetriever(BM25Retriever):
    """Retrieves chunks by BM25 over the terms of `coderag.text.tokenizer`, which understand identifiers, and over their fields.

    The base class tokenises texts with a regular expression and builds its own index; here both come from the index on
    disk, and its ``bm25s`` object holds our weights.

    Args:
        snapshot: The generation to search.
        index: BM25 weights of its chunks; by default text, names and documentation as one weighted document.
        similarity_top_k: Most nodes to return; a chunk without any term of the question is never returned.
        mask: bool (n_chunks,), the chunks to search; by default all.
        callback_manager: LlamaIndex's callbacks.
    """

    def __init__(
        self,
        snapshot: IndexSnapshot,
        *,
        index: LexicalIndex | None = None,
        similarity_top_k: int = DEFAULT_SIMILARITY_TOP_K,
        mask: NDArray[np.bool_] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        weights = index or _compute_chunk_weights(snapshot)
        super().__init__(
            existing_bm25=to_bm25s(weights, snapshot.read_terms()),
            similarity_top_k=max(1, min(similarity_top_k, weights.n_rows)),
            callback_manager=callback_manager,
        )
        self._snapshot = snapshot
        self._mask = mask

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        vocabulary = self.bm25.vocab_dict
        ids = [vocabulary[term] for term in tokenize_query(query_bundle.query_str) if term in vocabulary]
        if not ids:
            return []
        scores = self.bm25.get_scores_from_ids(ids, weight_mask=self._mask)
        rows = np.argsort(-scores, kind="stable")[: self.similarity_top_k]
        rows = rows[scores[rows] > 0]
        table = self._snapshot.read_chunks(CHUNK_COLUMNS).take(rows)
        nodes = to_text_nodes(table, self._snapshot.read_texts(rows.tolist()))
        return [NodeWithScore(node=node, score=float(scores[row])) for node, row in zip(nodes, rows, strict=True)]


def to_bm25s(index: LexicalIndex, terms: list[str]) -> bm25s.BM25:
    """Return our weights as a ``bm25s`` object, ready to be searched."""
    retriever = bm25s.BM25(method="lucene", k1=K1, b=B)
    scores: dict[str, Any] = {
        "data": index.data,
        "indices": index.rows,
        "indptr": index.starts,
        "num_docs": index.n_rows,
    }
    retriever.scores = scores
    retriever.vocab_dict = {term: number for number, term in enumerate(terms)}
    retriever.nonoccurrence_array = None  # other methods than Lucene's need it
    retriever.unique_token_ids_set = set(range(len(terms)))
    return retriever


def _compute_chunk_weights(snapshot: IndexSnapshot) -> LexicalIndex:
    counts = snapshot.read_counts()
    return compute_bm25_weights((counts.body + NAMES_WEIGHT * counts.names + DOCS_WEIGHT * counts.docs).tocsr())
