"""The slot for model rerankers: a model's scores order the first results anew."""

from collections.abc import Sequence

from coderag.state import Candidate, Reranker
from coderag.stores.corpus import Corpus


def apply_model(reranker: Reranker, corpus: Corpus, query: str, results: Sequence[Candidate]) -> list[Candidate]:
    """Return the results in the order of a model's scores; each keeps its score and notes the model's as a signal."""
    texts = corpus.texts([corpus.row_of[result["chunk_id"]] for result in results])
    scores = reranker.rerank(query, texts)
    order = sorted(range(len(results)), key=lambda position: -scores[position])
    return [
        {**results[position], "signals": {**results[position]["signals"], "reranker": float(scores[position])}}
        for position in order
    ]
