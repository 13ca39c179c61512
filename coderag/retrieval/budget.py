"""Pack results into a token budget: 60 % results, 30 % related code, 10 % a map of relations.

What one section leaves goes to the others. How much is shown of each piece is chosen by value per token: all of it, an elided
body, its signature, one line, or nothing. What was left out is listed with the call that fetches it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coderag.question.places import fetching_call
from coderag.retrieval.context_formats import WRITERS
from coderag.retrieval.context_parts import EVIDENCE_NOTES, ContextParts, heading
from coderag.retrieval.passages import Passage, make_passages
from coderag.retrieval.selection import Selection
from coderag.retrieval.shown import ShownLines, remembered, shown_keys
from coderag.schema.context import AssembledContext, ContextSection, Omission
from coderag.schema.vocabulary import ContextFormat, Evidence, Intent
from coderag.stores.pieces import Piece
from coderag.text.token_counts import estimate_tokens

_TITLES: Final = tuple(ContextSection(name, (), 0) for name in ("primary", "related", "graph"))
_LISTED: Final = (10, 5, 3, 1, 0)  # of what is not shown, tried in turn until the list fits
_LIST_SHARE: Final = 0.06  # of the budget, at most, for that list

Counter = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What a context is to be packed from.

    Attributes:
        results: Primary results, best first.
        related: Related code, best first.
        relations: Lines of the map, best first.
        rarity: How telling each term of the question is, above 0.
        token_budget: Size of the text, in tokens.
        reserve: Further results, for what is left of the budget.
        shown: Keys of what earlier contexts showed.
        format: Of the text.
    """

    query: str
    intent: Intent
    evidence: Evidence
    results: Sequence[Piece]
    related: Sequence[Piece]
    relations: Sequence[str]
    rarity: Mapping[str, float]
    token_budget: int
    reserve: Sequence[Piece] = ()
    shown: Sequence[str] = ()
    format: ContextFormat = "markdown"


def assemble(request: ContextRequest, count_tokens: Counter) -> AssembledContext:
    """Return the context for a question; its text never has more tokens than the budget.

    Args:
        request: What there is.
        count_tokens: Returns the number of tokens of a text.

    Raises:
        InvalidQueryError: A key of what was shown is none.
    """
    writer, note, budget = WRITERS[request.format], EVIDENCE_NOTES[request.evidence], request.token_budget

    def size(parts: ContextParts) -> int:
        return sum(map(count_tokens, writer.write(parts)))

    earlier = ShownLines(request.shown)
    passages, before = make_passages(request.results, request.reserve, request.related, request.rarity, earlier)
    selection = Selection(passages, request.relations, lambda item: count_tokens(writer.item(item)))
    frame = ContextParts(heading(request.query, lambda text: size(ContextParts(text, note))), note)
    around = size(replace(frame, sections=_TITLES))
    selection.fill(budget - around - int(budget * _LIST_SHARE))
    listing, listed_tokens = _longest_list(
        _Listing(_omitted(selection.hidden(), count_tokens), before), frame, size, int(budget * _LIST_SHARE)
    )
    selection.fill(budget - around - listed_tokens)
    while True:
        listing = replace(listing, omitted=_omitted(selection.hidden(), count_tokens))
        parts = replace(listing.told(frame), sections=selection.sections())
        tokens = size(parts)
        if tokens <= budget:
            break
        if listing.most:  # the list has become longer, or the frame alone is too large
            listing = replace(listing, most=0)
        elif not selection.drop():
            break
    new = (key for path, lines in selection.source() for key in shown_keys(path, lines))
    return AssembledContext(
        query=request.query,
        intent=request.intent,
        text="".join(writer.write(parts)),
        sections=parts.sections,
        tokens=tokens,
        token_budget=budget,
        omitted=listing.omitted,
        evidence=request.evidence,
        format=request.format,
        shown=remembered(request.shown, new),
        shown_before=[piece.location for piece in before],
    )


@dataclass(frozen=True, slots=True)
class _Listing:
    """What is not shown: what was left out, and what was shown before; the first `most` of each are told."""

    omitted: Sequence[Omission]
    before: Sequence[Piece]
    most: int = 0

    def told(self, frame: ContextParts) -> ContextParts:
        """Return the parts with the list; what takes more to tell than to show is only counted."""
        worth_telling = [
            one for one in self.omitted if estimate_tokens(f"{one.fetch}{one.title}".encode()) < one.tokens
        ][: self.most]
        told_before = [piece.location for piece in self.before[: self.most]]
        return replace(
            frame,
            omitted=worth_telling,
            more_omitted=len(self.omitted) - len(worth_telling),
            before=told_before,
            more_before=len(self.before) - len(told_before),
        )


def _longest_list(
    listing: _Listing, frame: ContextParts, size: Callable[[ContextParts], int], most_tokens: int
) -> tuple[_Listing, int]:
    """Return the longest list that fits, and its tokens."""
    alone = size(frame)
    for most in _LISTED:
        longer = replace(listing, most=most)
        tokens = size(longer.told(frame)) - alone
        if tokens <= most_tokens:
            break
    return longer, max(tokens, 0)


def _omitted(hidden: Sequence[Passage], count_tokens: Counter) -> list[Omission]:
    pieces = (passage.piece for passage in hidden)
    return [
        Omission(
            piece.path,
            piece.start_line,
            piece.end_line,
            piece.name,
            count_tokens(piece.text),
            fetching_call(piece.path, piece.start_line, piece.end_line),
        )
        for piece in pieces
    ]
