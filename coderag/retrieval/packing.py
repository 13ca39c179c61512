"""Gather what the budget needs from the index."""

from coderag.retrieval.budget import ContextRequest, assemble
from coderag.schema import AssembledContext
from coderag.state import QueryState
from coderag.stores.corpus import Corpus
from coderag.stores.pieces import related_pieces, result_pieces
from coderag.token_counts import count_tokens


def pack(corpus: Corpus, state: QueryState, token_budget: int) -> AssembledContext:
    """Return the context for the state's results and related code."""
    related = related_pieces(corpus, state["related"])
    request = ContextRequest(
        query=state["query"],
        intent=state["analysis"]["intent"],
        evidence=state["evidence"],
        results=result_pieces(corpus, state["results"]),
        related=related,
        relations=[f"{piece.phrase} — {piece.location}" for piece in related],
        terms=state["analysis"]["terms"],
        token_budget=token_budget,
    )
    return assemble(request, count_tokens)
