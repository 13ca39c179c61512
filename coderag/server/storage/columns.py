"""Column types and identifiers shared by the tables."""

import uuid
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import DateTime, Dialect, String, TypeDecorator
from sqlalchemy.orm import mapped_column

ID_CHARS = 32


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time, stored in UTC; SQLite stores no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a value to UTC."""
        del dialect
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return a stored value with its zone."""
        del dialect
        return None if value is None else value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def create_id() -> str:
    """Create a random identifier of `ID_CHARS` hexadecimal digits."""
    return uuid.uuid4().hex


def get_time() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


Id = Annotated[str, mapped_column(String(ID_CHARS), primary_key=True, default=create_id)]
Created = Annotated[datetime, mapped_column(UtcDateTime(), default=get_time)]
