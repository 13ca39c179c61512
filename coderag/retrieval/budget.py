"""Pack results into a token budget: 60 % results, 30 % related code, 10 % a map of relations.

What one section leaves goes to the next. A chunk that does not fit is shown with less detail before it is left out, and what
was left out is listed with how to get it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from coderag.retrieval.context_markdown import context_head, render_context, render_item, section_title
from coderag.retrieval.elision import elide_body, signature_only
from coderag.schema import (
    AssembledContext,
    ContextItem,
    ContextSection,
    Detail,
    Evidence,
    Intent,
    Omission,
)
from coderag.stores.pieces import Piece

SHARES = {"primary": 0.6, "related": 0.3, "graph": 0.1}
"""Share of the budget of each section."""

_DETAILS: tuple[Detail, ...] = ("full", "elided", "signature", "line")
_LISTED_OMISSIONS = (10, 5, 2, 1, 0)  # tried in turn, until the list fits
_OMISSION_SHARE = 0.05

Counter = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What a context is to be packed from.

    Attributes:
        results: Primary results, best first.
        related: Related code, best first.
        relations: Lines of the map, best first.
        terms: Terms of the question, to choose the lines of an elided body.
        token_budget: Size of the text, in tokens.
    """

    query: str
    intent: Intent
    evidence: Evidence
    results: Sequence[Piece]
    related: Sequence[Piece]
    relations: Sequence[str]
    terms: Sequence[str]
    token_budget: int


def assemble(request: ContextRequest, count_tokens: Counter) -> AssembledContext:
    """Return the context for a question; its text never has more tokens than the budget."""
    packer = _Packer(request.terms, count_tokens)
    head = context_head(request.query, request.evidence)
    available = max(int(request.token_budget * (1 - _OMISSION_SHARE)) - count_tokens(head), 0)
    primary, left = packer.pack(request.results, int(available * SHARES["primary"]), "primary")
    related, left = packer.pack(request.related, int(available * SHARES["related"]) + left, "related")
    graph, left = packer.pack_lines(request.relations, int(available * SHARES["graph"]) + left)
    primary = packer.improve(request.results, primary, left)
    sections = [section for section in (primary, related, graph) if section.items]
    return _fit(request, head, sections, count_tokens)


class _Packer:
    def __init__(self, terms: Sequence[str], count_tokens: Counter) -> None:
        self._terms = frozenset(terms)
        self._count = count_tokens

    def pack(self, pieces: Sequence[Piece], allowance: int, name: str) -> tuple[ContextSection, int]:
        """Return a section of at most `allowance` tokens, and what it leaves."""
        left = allowance - self._count(section_title(name))
        items = []
        for piece in pieces:
            item = self._largest(piece, left)
            if item is not None:
                items.append(item)
                left -= item.tokens
        section = _section(name, items)
        return section, max(left, 0) if items else allowance

    def pack_lines(self, lines: Sequence[str], allowance: int) -> tuple[ContextSection, int]:
        """Return the map of relations, one line an item."""
        left = allowance - self._count(section_title("graph"))
        items = []
        for line in lines:
            tokens = self._count(f"- {line}\n")
            if tokens > left:
                break
            left -= tokens
            items.append(ContextItem("", "", 0, 0, "", line, tokens, "line"))
        return _section("graph", items), max(left, 0) if items else allowance

    def improve(self, pieces: Sequence[Piece], section: ContextSection, left: int) -> ContextSection:
        """Return the section with more detail, or more pieces, as far as `left` tokens allow."""
        shown = {item.chunk_id + str(item.start_line): item for item in section.items}
        items = []
        for piece in pieces:
            item = shown.get(piece.chunk_id + str(piece.start_line))
            spent = item.tokens if item else 0
            better = self._largest(piece, left + spent) if not item or item.detail != "full" else item
            if better is not None and better.tokens >= spent:
                left -= better.tokens - spent
                item = better
            if item is not None:
                items.append(item)
        return _section("primary", items)

    def _largest(self, piece: Piece, allowance: int) -> ContextItem | None:
        """Return the piece in as much detail as fits; None if not even its one line does."""
        for detail in _DETAILS:
            item = _item(piece, detail, self._terms)
            tokens = self._count(render_item(item))
            if tokens <= allowance:
                return replace(item, tokens=tokens)
        return None


def _item(piece: Piece, detail: Detail, terms: frozenset[str]) -> ContextItem:
    texts: dict[Detail, Callable[[], str]] = {
        "full": lambda: piece.text.strip("\n"),
        "elided": lambda: elide_body(piece.text.strip("\n"), terms),
        "signature": lambda: signature_only(piece.signature or piece.name, piece.docstring),
        "line": lambda: piece.summary,
    }
    title = f"`{piece.name}` ({piece.kind})" if piece.name else piece.kind
    return ContextItem(
        chunk_id=piece.chunk_id,
        path=piece.path,
        start_line=piece.start_line,
        end_line=piece.end_line,
        title=title,
        text=texts[detail](),
        tokens=0,
        detail=detail,
        language=piece.language,
        relation=piece.relation,
        related_to=piece.related_to,
    )


def _section(name: str, items: Sequence[ContextItem]) -> ContextSection:
    return ContextSection(name=name, items=items, tokens=sum(item.tokens for item in items))  # type: ignore[arg-type]


def _fit(request: ContextRequest, head: str, sections: list[ContextSection], count_tokens: Counter) -> AssembledContext:
    """Return the context, its last items dropped until the whole text fits: tokens do not add up exactly."""
    while True:
        omitted = _omitted(request, sections, count_tokens)
        for listed in sorted({min(len(omitted), most) for most in _LISTED_OMISSIONS}, reverse=True):
            text = render_context(head, sections, omitted, listed)
            tokens = count_tokens(text)
            if tokens <= request.token_budget or not (sections or listed):
                return AssembledContext(
                    query=request.query,
                    intent=request.intent,
                    text=text,
                    sections=sections,
                    tokens=tokens,
                    token_budget=request.token_budget,
                    omitted=omitted,
                    evidence=request.evidence,
                )
        last = sections[-1]
        sections = [*sections[:-1], _section(last.name, last.items[:-1])] if len(last.items) > 1 else sections[:-1]


def _omitted(request: ContextRequest, sections: Sequence[ContextSection], count_tokens: Counter) -> list[Omission]:
    shown = {(item.chunk_id, item.start_line) for section in sections for item in section.items}
    return [
        Omission(piece.path, piece.start_line, piece.end_line, piece.name, count_tokens(piece.text), _fetch(piece))
        for piece in (*request.results, *request.related)
        if piece.key not in shown
    ]


def _fetch(piece: Piece) -> str:
    """Return the command that shows what was left out."""
    name = piece.name.replace("'", "").replace("`", "") or piece.path
    return f"coderag search '{name}' --path '{piece.path}'"
