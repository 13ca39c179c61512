"""Items of documentation and backlog systems: pages, attachments and tickets, as a source reads them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

ItemKind = Literal["page", "attachment", "file", "ticket"]


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """Readers of an item, as its source states them. Unknown access is private: neither public nor anyone's.

    Attributes:
        is_public: Whether everyone who may use the source may read it.
        users, groups: Names of those who may read it otherwise, as the source writes them.
    """

    is_public: bool = False
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


PRIVATE = ItemAccess()
PUBLIC = ItemAccess(is_public=True)


@dataclass(frozen=True, slots=True)
class ItemLink:
    """A link of an item to another one, or to code.

    Attributes:
        relation: Relation in the words of the source, such as "blocks", "parent" or "mentions".
        target: Id of an item of the same source, or a URL.
    """

    relation: str
    target: str


@dataclass(frozen=True, slots=True)
class ItemComment:
    """A comment on an item. `text` is Markdown."""

    author: str
    created: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A change of a ticket's status."""

    author: str
    changed: datetime | None
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Item:
    """A page, attachment, file or ticket.

    Attributes:
        id: Identity within its source; the key of a ticket, such as ``PROJ-45``, otherwise the id of the system.
        text: Body as Markdown, without title and comments.
        url: Address of the original, for people.
        revision: Version as the source counts it; equal revisions have equal contents.
        type: Type in the words of the source, such as "Bug" or "Story"; empty for pages.
        status: Status in the words of the source; empty if it has none.
        people: Names by role, such as "assignee", "reporter" and "author".
        fields: Further named values to search and show, such as sprint, epic or area path.
    """

    id: str
    kind: ItemKind
    title: str
    text: str
    url: str = ""
    revision: str = ""
    created: datetime | None = None
    modified: datetime | None = None
    type: str = ""
    status: str = ""
    labels: tuple[str, ...] = ()
    people: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    links: tuple[ItemLink, ...] = ()
    comments: tuple[ItemComment, ...] = ()
    status_changes: tuple[StatusChange, ...] = ()
    access: ItemAccess = PRIVATE


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """An item that could not be read; the next synchronisation tries it again."""

    id: str
    reason: str
    url: str = ""
