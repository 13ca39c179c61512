"""Gather what the budget needs from the index."""

from collections.abc import Callable, Iterable

from coderag.retrieval.budget import ContextRequest, assemble
from coderag.schema import AssembledContext
from coderag.state import QueryState
from coderag.stores.corpus import Corpus
from coderag.stores.pieces import related_pieces, result_pieces
from coderag.token_counts import count_tokens

Excerpt = Callable[[Iterable[tuple[str, str, int, int]]], list[str]]
"""Gives the lines of the map for declarations by their path, qualified name, first and last line."""


def pack(corpus: Corpus, state: QueryState, token_budget: int, excerpt: Excerpt) -> AssembledContext:
    """Return the context for the state's results and related code."""
    results = result_pieces(corpus, state["results"])
    related = related_pieces(corpus, state["related"])
    request = ContextRequest(
        query=state["query"],
        intent=state["analysis"]["intent"],
        evidence=state["evidence"],
        results=results,
        related=related,
        relations=excerpt((piece.path, piece.name, piece.start_line, piece.end_line) for piece in (*results, *related)),
        terms=state["analysis"]["terms"],
        token_budget=token_budget,
    )
    return assemble(request, count_tokens)
