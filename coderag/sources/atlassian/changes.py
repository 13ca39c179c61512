"""Changes since a checkpoint: windows of time that overlap, without the items that were read before."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from coderag.schema.items import Item, ItemFailure
from coderag.sources.atlassian.listings import Cursor, Row, RowPage, walk_rows
from coderag.sources.atlassian.times import find_zone, format_window_start, parse_time
from coderag.sources.protocol import OVERLAP, Checkpoint, Page

_VERSION: Final = 1
_DIGEST_CHARS: Final = 12

QueryPage = Callable[[str | None, Cursor | None], RowPage]
"""Request a page: rows changed since the start of a window, as the query writes it, from a cursor on."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of a page as items."""

    items: Sequence[Item] = ()
    deleted: Sequence[str] = ()
    failures: Sequence[ItemFailure] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """Position of a synchronisation.

    Attributes:
        newest: Time of the last change that was read.
        recent: Digests of the rows that the next window reads again, since windows overlap.
        zone: IANA name of the zone in which the server reads times of a query; empty if that is unknown.
    """

    newest: datetime | None = None
    recent: frozenset[str] = frozenset()
    zone: str = ""

    @classmethod
    def parse(cls, checkpoint: Checkpoint | None) -> "Position | None":
        """Parse a checkpoint; None if there is none, or if another version wrote it."""
        if not checkpoint or checkpoint.get("version") != _VERSION:
            return None
        newest = parse_time(checkpoint.get("newest")) if checkpoint.get("newest") else None
        return cls(newest, frozenset(checkpoint.get("recent") or ()), str(checkpoint.get("zone") or ""))

    def to_checkpoint(self) -> dict[str, Any]:
        """Return the position as JSON."""
        newest = self.newest.isoformat() if self.newest else None
        return {"version": _VERSION, "newest": newest, "recent": sorted(self.recent), "zone": self.zone}

    def select_fresh(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that were not read before: of a window that reaches back too far, those within the overlap."""
        earliest = self.newest - OVERLAP if self.newest else None
        return [
            row
            for row in rows
            if _hash_row(row) not in self.recent and not (earliest and row.modified and row.modified < earliest)
        ]


class _Progress:
    """Position of a run, page after page."""

    def __init__(self, before: Position) -> None:
        self._newest = before.newest
        self._unseen = before.recent
        self._times: dict[str, datetime] = {}
        # Behind a time in the future, a window would miss everything until then.
        self._latest = datetime.now(UTC) + OVERLAP / 2

    def advance(self, rows: Sequence[Row]) -> None:
        """Count rows as read."""
        for row in rows:
            if row.modified is None:
                continue
            self._times[_hash_row(row)] = row.modified
            modified = min(row.modified, self._latest)
            self._newest = max(self._newest, modified) if self._newest else modified
        if self._newest:
            earliest = self._newest - OVERLAP
            self._times = {digest: time for digest, time in self._times.items() if time >= earliest}

    def to_position(self, zone: str, *, is_complete: bool) -> Position:
        """Return the position; a complete run has read the whole overlap, and keeps nothing else of the last one."""
        recent = frozenset(self._times) if is_complete else self._unseen.union(self._times)
        return Position(self._newest, recent, zone)


class ChangeReader:
    """Reads changes page by page.

    Args:
        query: Requests a page.
        convert: Turns rows into items.
        find_zone_name: Asks the server for the zone of the times in queries; empty if it does not say.
        name: The request, as messages name it.
    """

    def __init__(
        self,
        query: QueryPage,
        convert: Callable[[Sequence[Row]], Batch],
        find_zone_name: Callable[[], str],
        name: str,
    ) -> None:
        self._query = query
        self._convert = convert
        self._find_zone_name = find_zone_name
        self._name = name
        self._zone = ""

    def read(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield pages of changes; at least one."""
        position = Position.parse(checkpoint)
        before = position or Position()
        self._zone = before.zone if position else self._find_zone_name()
        progress = _Progress(before)
        has_yielded = False
        seen: set[str] = set()  # a walk that restarts reads rows again
        for page in walk_rows(self._search, before.newest - OVERLAP if before.newest else None, self._name):
            fresh = [row for row in before.select_fresh(page.rows) if _hash_row(row) not in seen]
            seen.update(map(_hash_row, fresh))
            batch = self._convert(fresh) if fresh else Batch()
            progress.advance(page.rows)
            is_last = page.cursor is None
            if fresh or (is_last and not has_yielded):
                has_yielded = True
                after = progress.to_position(self._zone, is_complete=is_last)
                # The total of a window counts the rows of its overlap, which are not read again.
                total = page.total if before.newest is None else None
                yield Page(batch.items, after.to_checkpoint(), batch.deleted, batch.failures, total)
        if not has_yielded:
            yield Page((), progress.to_position(self._zone, is_complete=True).to_checkpoint())

    def _search(self, start: datetime | None, cursor: Cursor | None) -> RowPage:
        """Request a page, and prove that its window begins early enough.

        The first row of a window that overlaps is not newer than what was read before, unless those items changed meanwhile.
        Otherwise the server reads the time in another zone than it said, and the window is widened to cover every zone.
        """
        if start is None:
            return self._query(None, cursor)
        page = self._query(format_window_start(start, find_zone(self._zone)), cursor)
        if cursor is not None or not self._zone or _is_covered(page, start):
            return page
        self._zone = ""
        return self._query(format_window_start(start, None), None)


def _is_covered(page: RowPage, start: datetime) -> bool:
    first = page.rows[0].modified if page.rows else None
    return first is not None and first <= start + OVERLAP


def _hash_row(row: Row) -> str:
    """Return a short digest of a row, since an import may change thousands within an overlap."""
    return sha256(f"{row.id}\0{row.revision}".encode()).hexdigest()[:_DIGEST_CHARS]
