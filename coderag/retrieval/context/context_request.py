"""Packing of a query's results into a context."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

from coderag.question.places import parse_location
from coderag.retrieval.context.assembly import ContextRequest, assemble_context
from coderag.schema.context import AssembledContext
from coderag.schema.query import Analysis, QueryState
from coderag.schema.vocabulary import ContextFormat
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, find_snippets_at_lines, gather_snippets
from coderag.text.token_counts import count_tokens

RelationMap = Callable[[Iterable[tuple[str, str, int, int]]], list[str]]
"""Builds the lines of the relation map from path, qualified name, first and last line of declarations."""

_MAX_TERMS: Final = 40  # the rarest ones; a bug report has hundreds
_MAX_CHARS_PER_TOKEN: Final = 5  # of code, on average
_MAX_MEMOIZED_CHARS: Final = 6_000  # longer texts are rarely counted twice


def pack_context(
    corpus: Corpus, state: QueryState, token_budget: int, build_relation_map: RelationMap
) -> AssembledContext:
    """Pack the state's results and related code."""
    results, reserve, related = gather_snippets(corpus, state)
    request = ContextRequest(
        query=state["query"],
        intent=state["analysis"]["intent"],
        evidence=state["evidence"],
        results=results,
        reserve=reserve if state.get("shown") else _limit_reserve(reserve, (*results, *related), token_budget),
        related=related,
        relations=build_relation_map(
            (snippet.path, snippet.name, snippet.start_line, snippet.end_line) for snippet in (*results, *related)
        ),
        term_idf=_compute_term_idf(corpus, state["analysis"]),
        token_budget=token_budget,
        shown_keys=state.get("shown") or (),
        format=state.get("format") or "markdown",
    )
    return assemble_context(request, _count_tokens)


def pack_locations(
    corpus: Corpus, locations: Sequence[str], token_budget: int, text_format: ContextFormat
) -> AssembledContext:
    """Pack lines of files as a context.

    Raises:
        InvalidQueryError: A location is invalid or not indexed.
    """
    request = ContextRequest(
        query=", ".join(locations),
        intent="find_definition",
        evidence="found",
        results=[
            snippet for location in locations for snippet in find_snippets_at_lines(corpus, *parse_location(location))
        ],
        related=(),
        relations=(),
        term_idf={},
        token_budget=token_budget,
        format=text_format,
    )
    return assemble_context(request, _count_tokens)


def _limit_reserve(reserve: Sequence[Snippet], packed: Sequence[Snippet], token_budget: int) -> list[Snippet]:
    """Limit the further candidates to those that may fit."""
    room = token_budget * _MAX_CHARS_PER_TOKEN - sum(len(snippet.text) for snippet in packed)
    sizes = accumulate((len(snippet.text) for snippet in reserve), initial=0)
    return [snippet for snippet, size in zip(reserve, sizes, strict=False) if size < room]


def _compute_term_idf(corpus: Corpus, analysis: Analysis) -> dict[str, float]:
    """Compute the weighted IDF of the question's rarest terms."""
    weights = analysis["report"]["terms"] if analysis["report"] else dict.fromkeys(analysis["terms"], 1.0)
    term_idf = {}
    for term, weight in weights.items():
        if term in corpus.term_ids and weight > 0:
            term_idf[term] = weight * corpus.idf(term)
    return dict(sorted(term_idf.items(), key=lambda item: -item[1])[:_MAX_TERMS])


def _count_tokens(text: str) -> int:
    return _count_tokens_memoized(text) if len(text) <= _MAX_MEMOIZED_CHARS else count_tokens(text)


_count_tokens_memoized = lru_cache(maxsize=8_192)(count_tokens)
