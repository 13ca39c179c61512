"""Values of untrusted JSON: a missing value, or one of another type, reads as an empty one."""

from datetime import UTC, datetime
from typing import Any

_MIN_YEAR, _MAX_YEAR = 1970, 8999  # outside are placeholders, such as 0001-01-01 and 9999-01-01


def get_value(value: Any, *keys: str) -> Any:  # noqa: ANN401  # any JSON value
    """Return the value at a path of keys; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def get_text(value: Any, *keys: str) -> str:  # noqa: ANN401  # as above
    """Return the text or number at a path of keys as text; empty if there is none."""
    member = get_value(value, *keys)
    return str(member) if isinstance(member, str | int | float) and not isinstance(member, bool) else ""


def get_objects(value: Any, *keys: str) -> list[dict[str, Any]]:  # noqa: ANN401  # as above
    """Return the objects of a list at a path of keys; empty if there is none."""
    member = get_value(value, *keys)
    return [item for item in member if isinstance(item, dict)] if isinstance(member, list) else []


def parse_time(text: str) -> datetime | None:
    """Parse an ISO 8601 time; None if it is none. A time without a zone is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if not _MIN_YEAR <= moment.year <= _MAX_YEAR:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def parse_epoch_ms(text: str) -> datetime | None:
    """Parse milliseconds since 1970; None if the text is no such number."""
    try:
        return datetime.fromtimestamp(int(text) / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
