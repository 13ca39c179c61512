"""Finder of items for the steps of a query; nothing of the mirror is opened before it is asked."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from coderag.errors import CodeRAGError
from coderag.schema.item_search import ItemFilters, ItemHit, ItemScope
from coderag.schema.query import FoundItem, FoundItems

if TYPE_CHECKING:
    from coderag.engine.items.item_search import ItemSearch

MAX_FOUND: Final = 8
"""Items for an answer or a context, at most."""


class LazyItemFinder:
    """Finder of items.

    Args:
        open_items: Returns the search in the items.
    """

    def __init__(self, open_items: "Callable[[], ItemSearch]") -> None:
        self._open_items = open_items

    def find(self, query: str, scope: ItemScope) -> FoundItems:
        """Find the items for a question; an error of the mirror is a note.

        That no source of documentation is configured is not noted: the repository has documents of its own.
        """
        try:
            items = self._open_items()
            results = items.search(query, limit=MAX_FOUND, filters=ItemFilters(scope=scope))
        except CodeRAGError as error:
            note = f"The mirrored items cannot be searched: {error}."
            return FoundItems(hits=[], verdict="not_found", confidence=0.0, notes=[note])
        is_silent = scope == "documentation" and not items.has_sources(scope)
        return FoundItems(
            hits=[_to_found_item(hit) for hit in results.hits],
            verdict=results.evidence,
            confidence=results.confidence,
            notes=[] if is_silent else list(results.notes),
        )

    def read(self, path: str, start_line: int, end_line: int) -> FoundItem | None:
        """Read lines of the mirrored file of an item; None if the path is of no item, or the mirror cannot be read."""
        try:
            hit = self._open_items().read_lines(path, start_line, end_line)
        except CodeRAGError:
            return None
        return None if hit is None else _to_found_item(hit)

    def has_ticket(self, key: str) -> bool:
        """Return whether an item with a key is mirrored; False if the mirror cannot be read."""
        try:
            return self._open_items().has_item(key)
        except CodeRAGError:
            return False


def _to_found_item(hit: ItemHit) -> FoundItem:
    item = hit.item
    return FoundItem(
        source=item.source,
        id=item.id,
        kind=item.kind,
        title=item.title,
        url=item.url,
        revision=item.revision,
        type=item.type,
        status=item.status,
        path=item.path,
        content_hash=item.content_hash,
        heading=hit.heading,
        start_line=hit.start_line,
        end_line=hit.end_line,
        text=hit.text,
        snippet=hit.snippet,
        snippet_line=hit.snippet_line,
        score=hit.score,
    )
