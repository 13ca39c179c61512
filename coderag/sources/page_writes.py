"""Writes of one page into the database of a mirror, within a transaction of the caller."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from coderag.schema.items import ItemFailure
from coderag.schema.mirrored_items import MirroredItem
from coderag.sources.item_database import compress_text
from coderag.sources.prepared_items import PreparedItem
from coderag.sources.record_rows import ITEM_COLUMNS, format_stored_time, to_item_row
from coderag.sources.rendering import flatten_line

_MAX_REASON_CHARS = 1_000


def delete_items(connection: sqlite3.Connection, source: str, items: Sequence[MirroredItem]) -> list[str]:
    """Delete items; return the paths of their files."""
    connection.executemany("DELETE FROM items WHERE source = ? AND id = ?", [(source, item.id) for item in items])
    connection.executemany("DELETE FROM texts WHERE path = ?", [(item.path,) for item in items])
    return [item.path for item in items]


def store_items(
    connection: sqlite3.Connection,
    items: Sequence[PreparedItem],
    stored: Mapping[str, MirroredItem],
    signatures: Mapping[str, tuple[int, int]],
) -> list[str]:
    """Store items, and the texts of those with a new file; return the paths of files that have got another name.

    Args:
        connection: Connection in a transaction.
        items: The items.
        stored: Records that they replace, by id.
        signatures: Size and time of each new file, by path.
    """
    olds = [(stored.get(item.record.id), item.record) for item in items]
    renamed = [old.path for old, new in olds if old is not None and old.path != new.path]
    connection.executemany("DELETE FROM texts WHERE path = ?", [(path,) for path in renamed])
    statement = f"INSERT OR REPLACE INTO items VALUES ({', '.join('?' * len(ITEM_COLUMNS))})"  # noqa: S608  # marks only
    connection.executemany(statement, [to_item_row(item.record) for item in items])
    connection.executemany(
        "INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)",
        [
            (item.record.path, *signatures[item.record.path], compress_text(item.text))
            for item in items
            if item.record.path in signatures
        ],
    )
    return renamed


def store_failures(
    connection: sqlite3.Connection, source: str, failures: Sequence[ItemFailure], settled: Sequence[str]
) -> None:
    """Store failures, after forgetting those of items that were read or are gone.

    Args:
        connection: Connection in a transaction.
        source: Name of the source.
        failures: New failures, or further ones of the same items.
        settled: Ids of items whose failures are over, unless they are among `failures`.
    """
    failed = {failure.id for failure in failures}
    over = [(source, item_id) for item_id in settled if item_id not in failed]
    connection.executemany("DELETE FROM failures WHERE source = ? AND id = ?", over)
    now = format_stored_time(datetime.now(UTC))
    connection.executemany(
        "INSERT INTO failures VALUES (?, ?, ?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET reason = excluded.reason,"
        " url = excluded.url, attempts = attempts + 1, last_failed = excluded.last_failed",
        [
            (source, failure.id, flatten_line(failure.reason)[:_MAX_REASON_CHARS], flatten_line(failure.url), now, now)
            for failure in failures
        ],
    )
