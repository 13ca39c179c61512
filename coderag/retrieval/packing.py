"""Gather what the budget needs from the index."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

from coderag.question.places import parse_place
from coderag.retrieval.budget import ContextRequest, assemble
from coderag.schema.context import AssembledContext
from coderag.schema.query import Analysis, QueryState
from coderag.schema.vocabulary import ContextFormat
from coderag.stores.corpus import Corpus
from coderag.stores.pieces import Piece, context_pieces, pieces_of_lines
from coderag.text.token_counts import count_tokens

Excerpt = Callable[[Iterable[tuple[str, str, int, int]]], list[str]]
"""Gives the lines of the map for declarations by their path, qualified name, first and last line."""

_MOST_TERMS: Final = 40  # the rarest; a bug report has hundreds
_MOST_CHARACTERS_A_TOKEN: Final = 5  # of code, on average over some pieces
_LONGEST_COUNTED: Final = 6_000  # characters; longer texts are hardly ever counted twice


def pack(corpus: Corpus, state: QueryState, token_budget: int, excerpt: Excerpt) -> AssembledContext:
    """Return the context for the state's results and related code."""
    results, reserve, related = context_pieces(corpus, state)
    request = ContextRequest(
        query=state["query"],
        intent=state["analysis"]["intent"],
        evidence=state["evidence"],
        results=results,
        reserve=reserve if state.get("shown") else _as_needed(reserve, (*results, *related), token_budget),
        related=related,
        relations=excerpt((piece.path, piece.name, piece.start_line, piece.end_line) for piece in (*results, *related)),
        rarity=_rarity(corpus, state["analysis"]),
        token_budget=token_budget,
        shown=state.get("shown") or (),
        format=state.get("format") or "markdown",
    )
    return assemble(request, _count)


def pack_places(corpus: Corpus, places: Sequence[str], token_budget: int, format: ContextFormat) -> AssembledContext:  # noqa: A002
    """Return lines of files as a context.

    Raises:
        InvalidQueryError: A place is none, or not in the index.
    """
    request = ContextRequest(
        query=", ".join(places),
        intent="find_definition",
        evidence="found",
        results=[piece for place in places for piece in pieces_of_lines(corpus, *parse_place(place))],
        related=(),
        relations=(),
        rarity={},
        token_budget=token_budget,
        format=format,
    )
    return assemble(request, _count)


def _as_needed(reserve: Sequence[Piece], before: Sequence[Piece], token_budget: int) -> list[Piece]:
    """Return as many further candidates as there may be room for."""
    room = token_budget * _MOST_CHARACTERS_A_TOKEN - sum(len(piece.text) for piece in before)
    sizes = accumulate((len(piece.text) for piece in reserve), initial=0)
    return [piece for piece, size in zip(reserve, sizes, strict=False) if size < room]


def _rarity(corpus: Corpus, analysis: Analysis) -> dict[str, float]:
    """Return how telling the question's terms are in this index, the rarest of them."""
    weights = analysis["report"]["terms"] if analysis["report"] else dict.fromkeys(analysis["terms"], 1.0)
    rarity = {}
    for term, weight in weights.items():
        if term in corpus.term_ids and weight > 0:
            rarity[term] = weight * corpus.rarity(term)
    return dict(sorted(rarity.items(), key=lambda entry: -entry[1])[:_MOST_TERMS])


def _count(text: str) -> int:
    return _counted(text) if len(text) <= _LONGEST_COUNTED else count_tokens(text)


_counted = lru_cache(maxsize=8_192)(count_tokens)
