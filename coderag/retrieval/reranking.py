"""The slot for model rerankers: a model's scores order the first results anew."""

from collections.abc import Sequence
from typing import Any

from coderag.models.protocols import Reranker
from coderag.schema.query import Candidate
from coderag.stores.corpus import Corpus
from coderag.stores.pieces import Piece, result_pieces
from coderag.text.path_masking import MaskedPaths


def apply_model(
    reranker: Reranker, corpus: Corpus, query: str, results: Sequence[Candidate], paths: MaskedPaths | None = None
) -> tuple[list[Candidate], dict[str, Any]]:
    """Return the results in the order of a model's scores, and what the trace is to tell.

    The places' scores stay, so that they fall from the first result to the last; each result notes the model's own score as
    the signal ``reranker``. Where the model gives none, all stays as it is.

    Args:
        reranker: The model.
        corpus: The open index.
        query: The question as asked.
        results: Best first; those behind the first `Reranker.candidates` keep their places.
        paths: How a model outside of this process sees paths; None shows them as they are.
    """
    first, rest = results[: reranker.candidates], results[reranker.candidates :]
    told: dict[str, Any] = {"reranker": reranker.name, "reranked": 0}
    if len(first) < 2:
        return list(results), told
    masked = paths if reranker.remote else None
    texts = [_text(piece, masked) for piece in result_pieces(corpus, first)]
    rescored = reranker.rerank(masked.hide(query) if masked else query, texts)
    if rescored.scores is None:
        return list(results), {**told, "order_stands": rescored.note}
    scores = rescored.scores
    order = sorted(range(len(first)), key=lambda position: -scores[position])
    places = sorted((result["score"] for result in first), reverse=True)
    ordered: list[Candidate] = [
        {
            **first[position],
            "score": place,
            "signals": {**first[position]["signals"], "reranker": float(scores[position])},
        }
        for place, position in zip(places, order, strict=True)
    ]
    return [*ordered, *rest], {**told, "reranked": len(first)}


def _text(piece: Piece, paths: MaskedPaths | None) -> str:
    """Return what the model reads of a result."""
    path = paths.mask.mask(piece.path) if paths else piece.path
    return f"{path}\n{piece.text}"
