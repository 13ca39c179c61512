"""Reranking of the first results by a model's scores."""

from collections.abc import Sequence
from typing import Any

from coderag.models.protocols import Reranker
from coderag.schema.query import Candidate
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, build_result_snippets
from coderag.text.path_masking import MaskedPaths


def rerank_results(
    reranker: Reranker, corpus: Corpus, query: str, results: Sequence[Candidate], paths: MaskedPaths | None = None
) -> tuple[list[Candidate], dict[str, Any]]:
    """Order the results by a model's scores; return them with details for the trace.

    The ranked scores keep their positions, so that they decrease; the signal ``reranker`` is the model's own score.
    Without scores, results are unchanged.

    Args:
        reranker: The model.
        corpus: The open index.
        query: The question as asked.
        results: Best first; those beyond `Reranker.candidates` keep their positions.
        paths: Masked paths for a remote model; None does not mask.
    """
    leading, remaining = results[: reranker.candidates], results[reranker.candidates :]
    details: dict[str, Any] = {"reranker": reranker.name, "reranked": 0}
    if len(leading) < 2:
        return list(results), details
    masked = paths if reranker.remote else None
    texts = [_format_text(snippet, masked) for snippet in build_result_snippets(corpus, leading)]
    rescored = reranker.rerank(masked.mask_text(query) if masked else query, texts)
    if rescored.scores is None:
        return list(results), {**details, "order_stands": rescored.note}
    scores = rescored.scores
    order = sorted(range(len(leading)), key=lambda position: -scores[position])
    ranked_scores = sorted((result["score"] for result in leading), reverse=True)
    ordered: list[Candidate] = [
        {
            **leading[position],
            "score": score,
            "signals": {**leading[position]["signals"], "reranker": float(scores[position])},
        }
        for score, position in zip(ranked_scores, order, strict=True)
    ]
    return [*ordered, *remaining], {**details, "reranked": len(leading)}


def _format_text(snippet: Snippet, paths: MaskedPaths | None) -> str:
    """Format a result for the model."""
    path = paths.mask.mask_path(snippet.path) if paths else snippet.path
    return f"{path}\n{snippet.text}"
