"""Records of mirrored items: their contents lie in Markdown files beside them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from coderag.schema.items import PRIVATE, ItemAccess, ItemKind, ItemLink

RunOutcome = Literal["complete", "incomplete", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class MirroredItem:
    """Record of an item in the mirror. Names of people are masked if the settings say so.

    Attributes:
        source: Name of its source in the settings.
        id: Identity within its source, such as ``PROJ-45``.
        path: Its Markdown file, relative to the folder of the mirrored files, with ``/``.
        content_hash: SHA-256 of that file.
        url: Address of the original, for people.
        revision: Version as the source counts it.
        people: Names by role, such as "assignee".
        fields: Further named values, such as sprint or epic.
        mirrored: Time when the mirror last wrote it.
    """

    source: str
    id: str
    kind: ItemKind
    path: str
    content_hash: str
    title: str
    url: str = ""
    revision: str = ""
    type: str = ""
    status: str = ""
    labels: tuple[str, ...] = ()
    people: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    links: tuple[ItemLink, ...] = ()
    access: ItemAccess = PRIVATE
    created: datetime | None = None
    modified: datetime | None = None
    mirrored: datetime | None = None


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An item that could not be read; each synchronisation tries it again.

    Attributes:
        attempts: Number of failed attempts.
        first_failed, last_failed: Times of the first and the last one.
    """

    source: str
    id: str
    reason: str
    url: str
    attempts: int
    first_failed: datetime
    last_failed: datetime


@dataclass(frozen=True, slots=True)
class PageChanges:
    """Numbers of items that a page, or a whole run, changed in the mirror."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0

    def __add__(self, other: "PageChanges") -> "PageChanges":
        """Return the sums."""
        return PageChanges(
            self.added + other.added,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.deleted + other.deleted,
            self.failed + other.failed,
        )


@dataclass(frozen=True, slots=True)
class SourceRun:
    """A synchronisation of a source.

    Attributes:
        ended: None while it goes on, or if it was killed.
        outcome: "complete", "incomplete" if something was left out, "failed" or "cancelled".
        message: Reason of an outcome other than complete; empty otherwise.
        notes: What was not synchronised, and why.
        pages: Number of pages read.
    """

    source: str
    started: datetime
    ended: datetime | None
    outcome: RunOutcome
    message: str = ""
    notes: tuple[str, ...] = ()
    pages: int = 0
    changes: PageChanges = PageChanges()


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """Numbers of items of a source in the mirror, by kind, and of items that could not be read."""

    kinds: dict[str, int] = field(default_factory=dict)
    failures: int = 0

    @property
    def items(self) -> int:
        """Number of all items."""
        return sum(self.kinds.values())
