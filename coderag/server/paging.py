"""Pages of lists: the rows after a cursor, in the order of a sort key and an id."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import Select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from coderag.errors import InvalidValueError

DEFAULT_PAGE_ITEMS: Final = 100
MAX_PAGE_ITEMS: Final = 200

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[_Item]):
    """A page of a list.

    Attributes:
        items: Its items.
        next: Cursor of the following page; None if this is the last.
    """

    items: Sequence[_Item]
    next: str | None = None


def read_page(
    session: Session,
    statement: Select[_Item],
    keys: tuple[InstrumentedAttribute[str], InstrumentedAttribute[str]],
    cursor: str | None,
    limit: int,
) -> ListPage[_Item]:
    """Read the page after a cursor.

    Args:
        session: An open transaction.
        statement: Selects whole rows, without an order.
        keys: Sort key, and a unique column of the selected table.
        cursor: `ListPage.next` of the page before; None for the first page.
        limit: Maximum number of items.

    Raises:
        InvalidValueError: The cursor is none of this list.
    """
    if cursor is not None:
        statement = statement.where(tuple_(*keys) > tuple_(*_decode_cursor(cursor)))
    rows: Sequence[Any] = session.scalars(statement.order_by(*keys).limit(limit + 1)).all()
    items = rows[:limit]
    has_more = len(rows) > limit
    return ListPage(items, _encode_cursor(*(getattr(items[-1], key.key) for key in keys)) if has_more else None)


def _encode_cursor(*values: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


def _decode_cursor(cursor: str) -> list[str]:
    try:
        values = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
        is_valid = (
            isinstance(values, list)
            and len(values) == 2  # a sort key and an id
            and all(isinstance(value, str) and "\0" not in value and value.encode() is not None for value in values)
        )
    except (ValueError, RecursionError):
        is_valid = False
    if not is_valid:
        raise InvalidValueError(f"invalid cursor {cursor[:80]!r}", hint="Pass `next` of the page before, unchanged.")
    return list(values)


def slice_page(
    items: Sequence[_Item], get_keys: Callable[[_Item], tuple[str, str]], cursor: str | None, limit: int
) -> ListPage[_Item]:
    """Return the page after a cursor of a list in memory.

    Args:
        items: All items, in the order of their keys.
        get_keys: Returns the sort key and the id of an item.
        cursor: `ListPage.next` of the page before; None for the first page.
        limit: Maximum number of items.

    Raises:
        InvalidValueError: The cursor is none of this list.
    """
    if cursor is not None:
        last = tuple(_decode_cursor(cursor))
        items = [item for item in items if get_keys(item) > last]
    page = items[:limit]
    return ListPage(page, _encode_cursor(*get_keys(page[-1])) if len(items) > limit else None)
