"""Records of the mirrored items, loaded once for each state of the mirror, with their filters."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from coderag.schema.item_search import ItemFilters, ItemScope, ItemSummary
from coderag.schema.mirrored_items import MirroredItem

AccessCheck = Callable[[MirroredItem], bool]
"""Returns whether a reader may see an item."""


def allow_all(item: MirroredItem) -> bool:
    """Return True: the owner of a mirror sees all of it."""
    del item
    return True


@dataclass(frozen=True, slots=True)
class ItemPlaces:
    """Places of mirrored files as results name them.

    Attributes:
        root: Folder of the repository.
        files_folder: Folder of the mirrored files.
    """

    root: Path
    files_folder: Path

    def format_path(self, item: MirroredItem) -> str:
        """Return the path of an item's file: relative to the repository, or absolute outside of it."""
        path = self.files_folder / item.path
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def parse_path(self, path: str) -> str:
        """Return the path in the mirror of a file that `format_path` has formatted; empty for another file."""
        absolute = self.root / path
        if ".." in absolute.parts or not absolute.is_relative_to(self.files_folder):
            return ""
        return absolute.relative_to(self.files_folder).as_posix()

    def summarize(self, item: MirroredItem) -> ItemSummary:
        """Return what results say about an item."""
        return ItemSummary(
            source=item.source,
            id=item.id,
            kind=item.kind,
            title=item.title,
            path=self.format_path(item),
            content_hash=item.content_hash,
            url=item.url,
            revision=item.revision,
            type=item.type,
            status=item.status,
            labels=item.labels,
            people=item.people,
            created=item.created,
            modified=item.modified,
        )


class ItemRecords:
    """Records of one state of the mirror.

    Args:
        items: All of them, last modified first.
        backlog_sources: Names of the sources whose items are tickets with their attachments.

    Attributes:
        items, backlog_sources: As given.
    """

    def __init__(self, items: Iterable[MirroredItem], backlog_sources: Collection[str]) -> None:
        self.items = tuple(items)
        self.backlog_sources = frozenset(backlog_sources)

    @cached_property
    def by_path(self) -> Mapping[str, MirroredItem]:
        """Items by the path of their file in the mirror."""
        return {item.path: item for item in self.items}

    @cached_property
    def _by_id(self) -> Mapping[str, list[MirroredItem]]:
        by_id: dict[str, list[MirroredItem]] = {}
        for item in self.items:
            by_id.setdefault(item.id.casefold(), []).append(item)
        return by_id

    def find(self, item_id: str) -> list[MirroredItem]:
        """Find the items with an id, in any case of letters; several sources may have one."""
        return self._by_id.get(item_id.strip().casefold(), [])

    def get_scope(self, item: MirroredItem) -> ItemScope:
        """Return whether an item is documentation or backlog."""
        return "backlog" if item.kind == "ticket" or item.source in self.backlog_sources else "documentation"

    def select(self, filters: ItemFilters, can_read: AccessCheck) -> list[MirroredItem]:
        """Select the items that pass filters and that a reader may see, last modified first."""
        matches = _build_matchers(filters)
        return [
            item
            for item in self.items
            if (filters.scope is None or self.get_scope(item) == filters.scope)
            and all(match(item) for match in matches)
            and can_read(item)
        ]


def _build_matchers(filters: ItemFilters) -> list[Callable[[MirroredItem], bool]]:
    """Build a check of each filter that is set."""
    matchers: list[Callable[[MirroredItem], bool]] = []
    readers: list[tuple[Iterable[str], Callable[[MirroredItem], Iterable[str]]]] = [
        (filters.ids, lambda item: (item.id,)),
        (filters.kinds, lambda item: (item.kind,)),
        (filters.types, lambda item: (item.type,)),
        (filters.states, lambda item: (item.status,)),
        (filters.tags, lambda item: item.labels),
        (filters.sources, lambda item: (item.source,)),
        (filters.people, lambda item: (name for names in item.people.values() for name in names)),
    ]
    for wanted_values, read in readers:
        if wanted := frozenset(_fold(wanted_values)):
            matchers.append(lambda item, wanted=wanted, read=read: not wanted.isdisjoint(_fold(read(item))))  # type: ignore[misc]
    if filters.since is not None:
        since = _to_utc(filters.since)
        matchers.append(lambda item: item.modified is not None and _to_utc(item.modified) >= since)
    if filters.until is not None:
        until = _to_utc(filters.until)
        matchers.append(lambda item: item.modified is not None and _to_utc(item.modified) < until)
    return matchers


def _fold(values: Iterable[str]) -> set[str]:
    return {value.strip().casefold() for value in values}


def _to_utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
