"""Walks over the pages of a search that is sorted by time, while items change and move between its pages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from coderag.errors import SourceError
from coderag.sources.atlassian.client import AtlassianStatusError
from coderag.sources.protocol import OVERLAP

MAX_RESTARTS: Final = 20
"""Largest number of restarts of a walk without a later row, before it is given up."""

_MAX_STALE_PAGES: Final = 3
_MAX_EXPIRIES: Final = 3
_EXPIRED: Final = frozenset({400, 404, 410})

Cursor = str | int
"""Token of the next page, or the number of rows before it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a search.

    Attributes:
        revision: Equal for equal contents.
        data: The row as the system sent it.
    """

    id: str
    modified: datetime | None = None
    revision: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowPage:
    """One page of a search.

    Attributes:
        cursor: Where the next page is, or the number of rows before it; None behind the last one. A short or empty page may
            have a next one.
        total: Number of all rows as the server states it.
    """

    rows: Sequence[Row]
    cursor: Cursor | None
    total: int | None = None


Search = Callable[[datetime | None, Cursor | None], RowPage]
"""Request a page: rows of the window that begins at a moment (or all), sorted by time, from a cursor on."""


def walk_rows(search: Search, start: datetime | None, name: str) -> Iterator[RowPage]:
    """Yield the pages of a search that begins at `start`; a row may occur on several.

    A page by offset overlaps the one before it by a row. If that row is another one, rows moved, and the walk restarts
    `OVERLAP` before the last row read: rows that were not read are not older. An expired token restarts it too.

    Raises:
        SourceError: The pages repeat, or change faster than they can be read; the message begins with `name`.
    """
    walk = _Walk(name, start)
    while True:
        try:
            page = search(walk.start, walk.next_cursor)
        except AtlassianStatusError as error:
            if not isinstance(walk.cursor, str) or error.status not in _EXPIRED or walk.expiries >= _MAX_EXPIRIES:
                raise
            walk.expiries += 1
            walk.restart()
            continue
        rows = walk.take_fresh(page)
        if rows is None:
            walk.restart()
            continue
        if rows or page.cursor is None:
            yield RowPage(rows, page.cursor, page.total)
        if page.cursor is None:
            return
        if isinstance(page.cursor, int) and not rows:
            return
        walk.advance(page.cursor, rows)


class _Walk:
    """Position of a walk."""

    def __init__(self, name: str, start: datetime | None) -> None:
        self.name = name
        self.start = start
        self.cursor: Cursor | None = None
        self.expiries = 0
        self._last: Row | None = None
        self._latest: datetime | None = None
        self._restarts = 0
        self._seen_rows: set[tuple[str, str]] = set()
        self._seen_tokens: set[str] = set()
        self._stale_pages = 0

    @property
    def next_cursor(self) -> Cursor | None:
        """Cursor to request: an offset reads the last row again, to notice moves."""
        return self.cursor - 1 if isinstance(self.cursor, int) else self.cursor

    def take_fresh(self, page: RowPage) -> Sequence[Row] | None:
        """Return the page's rows without the overlap; None if rows moved since the page before."""
        if not isinstance(self.cursor, int):
            return page.rows
        if not page.rows or self._last is None or page.rows[0].id != self._last.id:
            return None
        return page.rows[1:]

    def advance(self, cursor: Cursor, rows: Sequence[Row]) -> None:
        """Go to the next page."""
        if isinstance(cursor, str):
            self._check_token(cursor, rows)
        self.cursor = cursor
        if rows:
            self._last = rows[-1]
        times = [row.modified for row in rows if row.modified]
        if times and (self._latest is None or max(times) > self._latest):
            self._latest = max(times)
            self._restarts = self.expiries = 0

    def restart(self) -> None:
        """Begin again before the last row."""
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            message = f"{self.name}: pages change faster than they can be read, after {MAX_RESTARTS} restarts"
            raise SourceError(message, hint="Synchronise again later, or check whether a proxy changes the replies.")
        if self._last is not None and self._last.modified is not None:
            start = self._last.modified - OVERLAP
            self.start = max(self.start, start) if self.start else start
        self.cursor = None
        self._last = None
        self._seen_tokens.clear()
        self._seen_rows.clear()

    def _check_token(self, token: str, rows: Sequence[Row]) -> None:
        fresh = {(row.id, row.revision) for row in rows} - self._seen_rows
        self._stale_pages = 0 if fresh or not rows else self._stale_pages + 1
        self._seen_rows |= fresh
        if token in self._seen_tokens or self._stale_pages >= _MAX_STALE_PAGES:
            message = f"{self.name}: its pages repeat, the next one leads back to one already read"
            raise SourceError(
                message, hint="Synchronise again later; report it to the system's operator if it persists."
            )
        self._seen_tokens.add(token)
