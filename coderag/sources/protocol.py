"""Protocol of sources: what a connector to a documentation or backlog system implements."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, Protocol

from coderag.schema.items import Item, ItemFailure

OVERLAP: Final = timedelta(minutes=30)
"""How far a window of changes reaches back behind the last one: clocks differ, and systems index late."""

SourceKind = Literal["documentation", "backlog"]
Checkpoint = Mapping[str, Any]
"""Position of a synchronisation, valid JSON. Only the connector that wrote it reads it."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of changes, and the position behind it.

    Attributes:
        items: Created and changed items. An item may occur on several pages; the last occurrence counts.
        checkpoint: Position from which a later call continues, behind this page. A run that was killed continues from the
            last stored one.
        deleted: Ids of items that the source says are gone.
        failures: Items that could not be read.
        total: Number of items of this run, if the source states it; for progress only, since sources are wrong about it.
    """

    items: Sequence[Item]
    checkpoint: Checkpoint
    deleted: Sequence[str] = ()
    failures: Sequence[ItemFailure] = ()
    total: int | None = None


class Source(Protocol):
    """A connector. It holds no state between calls but its connection, and writes nothing.

    Every method raises `SourceError` or a subclass if the system cannot be used; its message names the system's host and
    what was asked, never a credential.
    """

    @property
    def kind(self) -> SourceKind:
        """Kind of its items."""

    def check(self) -> str:
        """Check address, credential and scope with one small request; return the scope's name for people."""

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield pages of changes since a checkpoint, oldest first; everything without one, or if it has expired.

        The last page's checkpoint is where the next synchronisation starts, less `OVERLAP` where the source selects by
        time. A synchronisation of nothing changed yields one page, without items, at the cost of one request.
        """

    def read_items(self, ids: Sequence[str]) -> Page:
        """Read some items again that failed before; those that are gone are in `Page.deleted`. Its checkpoint is ignored."""

    def list_ids(self) -> Iterator[str] | None:
        """Yield the ids of all items, without their contents, to find deletions; None if `read_changes` reports them."""

    def close(self) -> None:
        """Close the connection."""
