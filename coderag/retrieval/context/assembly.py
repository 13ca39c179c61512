"""Assembly of a context within a token budget: what the question needs, and at most the budget.

Each snippet is shown whole, elided, in one line or not at all, by what it adds for its tokens. Omitted snippets are
listed with the command that fetches them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coderag.question.places import format_fetch_command
from coderag.retrieval.context.formats import WRITERS
from coderag.retrieval.context.item_section import ItemTokenCounter, build_item_section
from coderag.retrieval.context.packable_snippets import PackableSnippet, build_packable_snippets, build_related_lines
from coderag.retrieval.context.packing import ContextSelection
from coderag.retrieval.context.parts import EVIDENCE_NOTES, ContextParts, truncate_question
from coderag.retrieval.context.shown_lines import ShownLines, build_shown_keys, merge_keys
from coderag.schema.context import AssembledContext, ContextSection, Omission
from coderag.schema.query import FoundItems
from coderag.schema.vocabulary import ContextFormat, Evidence, Intent
from coderag.stores.snippets import Snippet
from coderag.text.token_counts import estimate_tokens

_EMPTY_SECTIONS: Final = tuple(ContextSection(name, (), 0) for name in ("primary", "related", "graph"))
_LIST_LENGTHS: Final = (10, 5, 3, 1, 0)  # lengths of the list, tried in turn until it fits
_MAX_LIST_SHARE: Final = 0.06  # of the budget

TokenCounter = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """Input of a context.

    Attributes:
        results: Results, best first.
        related: Related code, best first.
        relations: Lines of the relation map, best first.
        are_relations_deciding: Whether these lines answer the question; then they come first, and get more of the budget.
        term_idf: IDF of each question term, positive.
        token_budget: Maximum size of the text, in tokens.
        relevance: Probability that each result, then each further candidate, is needed.
        token_price: Relevance that a token must add to be spent; 0 spends the whole budget.
        reserve: Further candidates, best first.
        shown_keys: Keys of earlier contexts.
        format: Output format.
        items: Mirrored pages and tickets, which come first; None has none.
    """

    query: str
    intent: Intent
    evidence: Evidence
    results: Sequence[Snippet]
    related: Sequence[Snippet]
    relations: Sequence[str]
    term_idf: Mapping[str, float]
    token_budget: int
    relevance: Sequence[float]
    token_price: float = 0.0
    reserve: Sequence[Snippet] = ()
    shown_keys: Sequence[str] = ()
    are_relations_deciding: bool = False
    format: ContextFormat = "markdown"
    items: FoundItems | None = None


def assemble_context(request: ContextRequest, count_tokens: TokenCounter) -> AssembledContext:
    """Assemble a context whose text never exceeds the token budget.

    Args:
        request: Input of the context.
        count_tokens: Counts the tokens of a text.

    Raises:
        InvalidQueryError: A key of shown lines is invalid.
    """
    writer, note, budget = WRITERS[request.format], EVIDENCE_NOTES[request.evidence], request.token_budget

    def count_parts(context_parts: ContextParts) -> int:
        return sum(map(count_tokens, writer.write(context_parts)))

    shown_lines = ShownLines(request.shown_keys)
    candidates = [*request.results, *request.reserve]
    packable, shown_before = build_packable_snippets(
        candidates, len(request.results), request.relevance, request.term_idf, shown_lines
    )
    relevance_by_chunk = {
        snippet.chunk_id: probability for snippet, probability in zip(candidates, request.relevance, strict=True)
    }
    packable += build_related_lines(request.related, relevance_by_chunk)
    selection = ContextSelection(
        packable,
        request.relations,
        request.token_price,
        lambda item: count_tokens(writer.format_item(item)),
        are_relations_deciding=request.are_relations_deciding,
    )
    frame = ContextParts(truncate_question(request.query, lambda text: count_parts(ContextParts(text, note))), note)
    items = _build_items(request, lambda item: count_tokens(writer.format_item(item)))
    overhead_tokens = count_parts(replace(frame, sections=(*items, *_EMPTY_SECTIONS)))
    selection.fill(budget - overhead_tokens - int(budget * _MAX_LIST_SHARE))
    listing, listed_tokens = _fit_longest_list(
        _OmissionList(_build_omissions(selection.list_hidden(), count_tokens), shown_before),
        frame,
        count_parts,
        int(budget * _MAX_LIST_SHARE),
    )
    selection.fill(budget - overhead_tokens - listed_tokens)
    while True:
        listing = replace(listing, omitted=_build_omissions(selection.list_hidden(), count_tokens))
        context_parts = replace(listing.add_to_parts(frame), sections=[*items, *selection.build_sections()])
        tokens = count_parts(context_parts)
        if tokens <= budget:
            break
        if listing.limit:  # the list has grown, or the frame alone is too large
            listing = replace(listing, limit=0)
        elif not selection.drop_least_valuable():
            if not items:
                break
            items = []
    new_keys = (key for path, lines in selection.iter_source() for key in build_shown_keys(path, lines))
    return AssembledContext(
        query=request.query,
        intent=request.intent,
        text="".join(writer.write(context_parts)),
        sections=context_parts.sections,
        tokens=tokens,
        token_budget=budget,
        omitted=listing.omitted,
        evidence=request.evidence,
        format=request.format,
        shown=merge_keys(request.shown_keys, new_keys),
        shown_before=[snippet.location for snippet in shown_before],
    )


def _build_items(request: ContextRequest, count_tokens: ItemTokenCounter) -> list[ContextSection]:
    results = request.items
    if results is None:
        return []
    return build_item_section(results["hits"], results["verdict"], request.token_budget, count_tokens)


@dataclass(frozen=True, slots=True)
class _OmissionList:
    """Omitted and previously shown snippets; the first `limit` of each are listed."""

    omitted: Sequence[Omission]
    shown_before: Sequence[Snippet]
    limit: int = 0

    def add_to_parts(self, frame: ContextParts) -> ContextParts:
        """Add the list to the parts; entries that cost more tokens than they stand for are only counted."""
        listed = [
            omission
            for omission in self.omitted
            if estimate_tokens(f"{omission.fetch}{omission.title}".encode()) < omission.tokens
        ][: self.limit]
        listed_before = [snippet.location for snippet in self.shown_before[: self.limit]]
        return replace(
            frame,
            omitted=listed,
            unlisted_omitted=len(self.omitted) - len(listed),
            shown_before=listed_before,
            unlisted_before=len(self.shown_before) - len(listed_before),
        )


def _fit_longest_list(
    listing: _OmissionList, frame: ContextParts, count_parts: Callable[[ContextParts], int], max_tokens: int
) -> tuple[_OmissionList, int]:
    """Return the longest list that fits, and its tokens."""
    frame_tokens = count_parts(frame)
    for limit in _LIST_LENGTHS:
        candidate = replace(listing, limit=limit)
        tokens = count_parts(candidate.add_to_parts(frame)) - frame_tokens
        if tokens <= max_tokens:
            break
    return candidate, max(tokens, 0)


def _build_omissions(hidden: Sequence[PackableSnippet], count_tokens: TokenCounter) -> list[Omission]:
    snippets = (packable.snippet for packable in hidden)
    return [
        Omission(
            snippet.path,
            snippet.start_line,
            snippet.end_line,
            snippet.name,
            count_tokens(snippet.text),
            format_fetch_command(snippet.path, snippet.start_line, snippet.end_line),
        )
        for snippet in snippets
    ]
