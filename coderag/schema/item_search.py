"""Filters and results of searches in mirrored items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from coderag.schema.items import ItemKind, ItemLink
from coderag.schema.vocabulary import Evidence

ItemScope = Literal["documentation", "backlog"]
"""Pages and files of documentation sources, or tickets with their attachments."""

MAX_ITEMS: Final = 100
"""Maximum number of items of a search or of a page of a list."""

DEFAULT_ITEMS: Final = 10


@dataclass(frozen=True, slots=True)
class ItemFilters:
    """Filters of items. Empty means any; several values of one filter are alternatives, in any case of letters.

    Attributes:
        ids: Identities within their sources, such as ``PROJ-45``.
        kinds: Kinds of items.
        types: Types in the words of the source, such as "Bug".
        states: Statuses in the words of the source.
        tags: Labels.
        sources: Names of sources.
        people: Names of people in any role, as they are mirrored.
        since, until: Bounds of the last modification, the latter exclusive; items without one pass neither.
        scope: Documentation or backlog; None is both.
    """

    ids: tuple[str, ...] = ()
    kinds: tuple[ItemKind, ...] = ()
    types: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    scope: ItemScope | None = None

    def __bool__(self) -> bool:
        lists = (self.ids, self.kinds, self.types, self.states, self.tags, self.sources, self.people)
        return any(lists) or None not in (self.since, self.until) or bool(self.since or self.until or self.scope)


NO_ITEM_FILTERS: Final = ItemFilters()


@dataclass(frozen=True, slots=True)
class ItemSummary:
    """An item in a list or a result, without its text.

    Attributes:
        path: Its mirrored file, relative to the repository or absolute outside of it.
        content_hash: SHA-256 of that file.
        url: Address of the original, for people.
        revision: Version as the source counts it.
    """

    source: str
    id: str
    kind: ItemKind
    title: str
    path: str
    content_hash: str
    url: str = ""
    revision: str = ""
    type: str = ""
    status: str = ""
    labels: Sequence[str] = ()
    people: Mapping[str, Sequence[str]] = field(default_factory=dict)
    created: datetime | None = None
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class ItemHit:
    """An item that a search found, with its best section.

    Attributes:
        heading: Headings of the section below the title; empty for the beginning.
        start_line, end_line: Lines of the section in the mirrored file.
        text: These lines.
        snippet: Those of them that are nearest to the question.
        snippet_line: First line of the snippet in the file.
        score: Higher is better, at most 1; comparable only within one query.
    """

    item: ItemSummary
    heading: str
    start_line: int
    end_line: int
    text: str
    snippet: str
    snippet_line: int
    score: float


@dataclass(frozen=True, slots=True)
class ItemResults:
    """Items that a search found, best first, each once.

    Attributes:
        evidence, confidence: Verdict on how well they answer, as of a search for code.
        notes: What was not synchronised, a sentence each.
    """

    query: str
    hits: Sequence[ItemHit] = ()
    evidence: Evidence = "not_found"
    confidence: float = 0.0
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ItemListing:
    """A page of items, last modified first.

    Attributes:
        total: Number of all items that pass the filters.
        next_offset: Offset of the next page; None after the last.
        notes: What was not synchronised, a sentence each.
    """

    items: Sequence[ItemSummary]
    total: int
    next_offset: int | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ItemReference:
    """A name or path in the text of an item that the repository has. It rests on the text alone.

    Attributes:
        text: The reference as written.
        path, line: Place of the declaration or file.
        name: Qualified name; empty for a file.
        kind: Kind of the declaration, or "file".
        item_line: Line of the mirrored file that has it.
    """

    text: str
    path: str
    line: int
    name: str
    kind: str
    item_line: int


@dataclass(frozen=True, slots=True)
class ItemMention:
    """A line of an item that has a name of the code. It rests on the text alone.

    Attributes:
        name: The name that was asked for.
        line: Line of the mirrored file.
        text: That line.
    """

    item: ItemSummary
    name: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ItemText:
    """A page of an item's Markdown.

    Attributes:
        page, pages: Number of this page, from 1, and of all of them.
        start_line: First line of the page in the mirrored file.
        links: Links to other items and addresses.
        references: Declarations and files of the repository that the whole text names.
    """

    item: ItemSummary
    text: str
    page: int
    pages: int
    start_line: int
    links: Sequence[ItemLink] = ()
    references: Sequence[ItemReference] = ()
