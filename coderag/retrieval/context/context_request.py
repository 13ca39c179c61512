"""Packing of a query's results into a context."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from coderag.question.places import parse_location
from coderag.retrieval.context.assembly import ContextRequest, assemble_context
from coderag.retrieval.context.context_snippets import gather_snippets
from coderag.retrieval.context.relation_lines import build_relation_lines
from coderag.retrieval.context.relevance import PROFILES, estimate_relevance, get_breadth
from coderag.retrieval.items.item_finder import ItemFinder
from coderag.retrieval.items.item_snippets import find_snippets
from coderag.schema.context import AssembledContext
from coderag.schema.query import Analysis, QueryState
from coderag.schema.records import to_relations
from coderag.schema.vocabulary import ContextFormat
from coderag.stores.corpus import Corpus
from coderag.text.token_counts import count_tokens

RelationMap = Callable[[Iterable[tuple[str, str, int, int]]], list[str]]
"""Builds the lines of the relation map from path, qualified name, first and last line of declarations."""

_MIN_ITEM_TOKENS: Final = 30  # of the shortest line about a candidate
_MAX_TERMS: Final = 40  # the rarest ones; a bug report has hundreds
_MAX_MEMOIZED_CHARS: Final = 6_000  # longer texts are rarely counted twice


def pack_context(
    corpus: Corpus, state: QueryState, token_budget: int, build_relation_map: RelationMap
) -> AssembledContext:
    """Pack the state's results and related code."""
    results, reserve, related = gather_snippets(corpus, state)
    breadth = "broad" if state.get("flow") else get_breadth(state["analysis"])
    relevance = estimate_relevance([snippet.score for snippet in (*results, *reserve)], breadth)
    min_relevance = PROFILES[breadth].token_price * _MIN_ITEM_TOKENS
    n_worthwhile = sum(probability > min_relevance for probability in relevance[len(results) :])
    deciding = state.get("flow") or build_relation_lines(
        corpus, state["analysis"]["reading"], to_relations(state.get("relations") or ())
    )
    relations = deciding
    if breadth == "broad" and not relations:
        relations = build_relation_map(
            (snippet.path, snippet.name, snippet.start_line, snippet.end_line) for snippet in (*results, *related)
        )
    request = ContextRequest(
        query=state["query"],
        intent=state["analysis"]["intent"],
        evidence=state["evidence"],
        results=results,
        reserve=reserve[:n_worthwhile],
        related=related,
        relations=relations,
        are_relations_deciding=bool(deciding),
        relevance=relevance[: len(results) + n_worthwhile],
        token_price=PROFILES[breadth].token_price,
        term_idf=_compute_term_idf(corpus, state["analysis"]),
        token_budget=token_budget,
        shown_keys=state.get("shown") or (),
        format=state.get("format") or "markdown",
        items=state.get("items"),
    )
    return assemble_context(request, _count_tokens)


def pack_locations(
    corpus: Corpus,
    locations: Sequence[str],
    token_budget: int,
    text_format: ContextFormat,
    items: ItemFinder | None = None,
) -> AssembledContext:
    """Pack lines of files, or of mirrored items, as a context.

    Raises:
        InvalidQueryError: A location is invalid or not indexed.
    """
    snippets = [
        snippet for location in locations for snippet in find_snippets(corpus, items, *parse_location(location))
    ]
    request = ContextRequest(
        query=", ".join(locations),
        intent="find_definition",
        evidence="found",
        results=snippets,
        relevance=[1.0] * len(snippets),
        related=(),
        relations=(),
        term_idf={},
        token_budget=token_budget,
        format=text_format,
    )
    return assemble_context(request, _count_tokens)


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
