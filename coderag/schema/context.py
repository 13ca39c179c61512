"""Assembled contexts: sections, items and omissions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from coderag.schema.vocabulary import ContextFormat, Detail, Evidence, Intent, Relation


@dataclass(frozen=True, slots=True)
class ContextItem:
    """An item of an assembled context.

    Attributes:
        detail: Shown part of the chunk: all, an elided body, signature with docstring, or one line.
        relation: Relation to a primary result; None for a primary result.
        related_to: ``qualified_name`` or location of that primary result.
        name: Qualified name.
        kind: Kind of the declaration, or of a mirrored item.
        url, revision: Address and version of the original of a mirrored item; empty for code.
    """

    chunk_id: str
    path: str
    start_line: int
    end_line: int
    title: str
    text: str
    tokens: int
    detail: Detail
    language: str = ""
    relation: Relation | None = None
    related_to: str = ""
    name: str = ""
    kind: str = ""
    url: str = ""
    revision: str = ""

    @property
    def is_block(self) -> bool:
        """True for several lines of code; anything else is written as one line."""
        return self.detail in ("full", "elided") and "\n" in self.text


@dataclass(frozen=True, slots=True)
class Omission:
    """A result that did not fit the budget; ``fetch`` is the command that shows its lines."""

    path: str
    start_line: int
    end_line: int
    title: str
    tokens: int
    fetch: str


@dataclass(frozen=True, slots=True)
class ContextSection:
    """A part of an assembled context: ``items`` (mirrored pages and tickets), ``primary``, ``related`` or ``graph``."""

    name: Literal["items", "primary", "related", "graph"]
    items: Sequence[ContextItem]
    tokens: int


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """Code for a question within a token budget.

    Attributes:
        text: Text in ``format``; it has exactly ``tokens`` tokens.
        shown: Keys of all code shown by this and earlier contexts, to pass to the next one.
        shown_before: Locations of results omitted because earlier contexts showed them.
        confidence, not_indexed: As in `SearchHits`.
        notes: What a question in another language than English was read as.
    """

    query: str
    intent: Intent
    text: str
    sections: Sequence[ContextSection]
    tokens: int
    token_budget: int
    omitted: Sequence[Omission]
    evidence: Evidence
    format: ContextFormat = "markdown"
    shown: Sequence[str] = ()
    shown_before: Sequence[str] = ()
    confidence: float = 1.0
    not_indexed: Sequence[str] = field(default_factory=list)
    notes: Sequence[str] = field(default_factory=list)
