"""Rows of the tables of a mirror, to and from records."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from coderag.schema.items import ItemAccess, ItemLink
from coderag.schema.mirrored_items import FailedItem, MirroredItem, PageChanges, SourceRun

ITEM_COLUMNS: Final = (
    "source", "id", "kind", "path", "content_hash", "title", "url", "revision", "type", "status", "labels", "people",
    "fields", "links", "access", "created", "modified", "mirrored",
)  # fmt: skip
RUN_COLUMNS: Final = ("source", "started", "ended", "outcome", "message", "notes", "pages", "changes")


def to_item_row(item: MirroredItem) -> tuple[object, ...]:
    """Return the values of `ITEM_COLUMNS`."""
    values: dict[str, object] = {
        **{name: getattr(item, name) for name in ITEM_COLUMNS},
        "labels": dump_json(item.labels),
        "people": dump_json(item.people),
        "fields": dump_json(item.fields),
        "links": dump_json([[link.relation, link.target] for link in item.links]),
        "access": dump_json(asdict(item.access)),
        "created": format_stored_time(item.created),
        "modified": format_stored_time(item.modified),
        "mirrored": format_stored_time(item.mirrored),
    }
    return tuple(values[name] for name in ITEM_COLUMNS)


def parse_item_row(row: Sequence[Any]) -> MirroredItem:
    """Parse the values of `ITEM_COLUMNS`."""
    values = dict(zip(ITEM_COLUMNS, row, strict=True))
    access = json.loads(values["access"])
    return MirroredItem(
        **{
            **values,
            "labels": tuple(json.loads(values["labels"])),
            "people": {role: tuple(names) for role, names in json.loads(values["people"]).items()},
            "fields": json.loads(values["fields"]),
            "links": tuple(ItemLink(relation, target) for relation, target in json.loads(values["links"])),
            "access": ItemAccess(access["is_public"], tuple(access["users"]), tuple(access["groups"])),
            "created": parse_stored_time(values["created"]),
            "modified": parse_stored_time(values["modified"]),
            "mirrored": parse_stored_time(values["mirrored"]),
        }
    )


def parse_failure_row(row: Sequence[Any]) -> FailedItem:
    """Parse source, id, reason, url, attempts and both times of a failure."""
    source, item_id, reason, url, attempts, first, last = row
    return FailedItem(source, item_id, reason, url, attempts, _parse_time(first), _parse_time(last))


def to_run_row(run: SourceRun) -> tuple[object, ...]:
    """Return the values of `RUN_COLUMNS`."""
    times = format_stored_time(run.started), format_stored_time(run.ended)
    changes = dump_json(asdict(run.changes))
    return (run.source, *times, run.outcome, run.message, dump_json(run.notes), run.pages, changes)


def parse_run_row(row: Sequence[Any]) -> SourceRun:
    """Parse the values of `RUN_COLUMNS`."""
    source, started, ended, outcome, message, notes, pages, changes = row
    return SourceRun(
        source,
        _parse_time(started),
        parse_stored_time(ended),
        outcome,
        message,
        tuple(json.loads(notes)),
        pages,
        PageChanges(**json.loads(changes)),
    )


def dump_json(value: object) -> str:
    """Return compact JSON with characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def dump_checkpoint(checkpoint: Mapping[str, Any]) -> str:
    """Return a checkpoint as JSON with sorted keys, so that equal ones are equal texts.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return json.dumps(dict(checkpoint), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise ValueError(str(error)) from error


def format_stored_time(time: datetime | None) -> str | None:
    """Format a time in UTC with all its digits; one without a zone is taken as UTC."""
    if time is None:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def parse_stored_time(text: str | None) -> datetime | None:
    """Parse a time as stored."""
    return datetime.fromisoformat(text) if text else None


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def fetch_items(
    connection: sqlite3.Connection, condition: str, parameters: Sequence[object] = ()
) -> list[MirroredItem]:
    """Fetch the items of a condition, with its order and limits."""
    query = f"SELECT {', '.join(ITEM_COLUMNS)} FROM items {condition}"  # noqa: S608  # a condition of this package
    return [parse_item_row(row) for row in connection.execute(query, tuple(parameters))]
