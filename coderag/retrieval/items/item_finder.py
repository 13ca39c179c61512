"""Protocol of what finds mirrored items for the steps of a query, and the questions that it is asked."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from coderag.schema.item_search import ItemScope
from coderag.schema.query import FoundItem, FoundItems
from coderag.schema.vocabulary import Intent

ITEM_SCOPES: Final[Mapping[Intent, ItemScope]] = MappingProxyType(
    {"documentation": "documentation", "backlog": "backlog"}
)
"""Items that a question of an intent is about; all other questions open nothing."""


class ItemFinder(Protocol):
    """Finder of items, implemented by `coderag.engine.items.item_finder.LazyItemFinder`."""

    def find(self, query: str, scope: ItemScope) -> FoundItems:
        """Find the items for a question; an error of the mirror is a note."""
        ...

    def read(self, path: str, start_line: int, end_line: int) -> FoundItem | None:
        """Read lines of the mirrored file of an item, as many as there are; None if the path is of no item."""
        ...

    def has_ticket(self, key: str) -> bool:
        """Return whether a ticket with a key is mirrored."""
        ...
