"""Limits of a history: dates, tags and other revisions."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from coderag.errors import UnknownRevisionError
from coderag.lineage.git_history import GitHistory

_AGO: Final = re.compile(r"(\d{1,4})\s*(day|week|month|year)s?(?:\s+ago)?", re.IGNORECASE)
_DAYS: Final = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
_PARTIAL_DATE: Final = re.compile(r"(\d{4})(?:-(\d{1,2}))?")


@dataclass(frozen=True, slots=True)
class Limit:
    """One end of a range: a commit or a time.

    Attributes:
        commit: Id of the commit; empty for a time.
        time: The time; None for a commit.
    """

    commit: str = ""
    time: datetime | None = None


def parse_limit(history: GitHistory, text: str) -> Limit | None:
    """Parse a date (``2024-05-01``, ``2024-05``, ``3 months ago``) or a revision; None for an empty text.

    Raises:
        UnknownRevisionError: It is neither.
    """
    text = text.strip()
    if not text:
        return None
    time = parse_time(text)
    if time is not None and not (text.isdecimal() and history.find_commit(text)):
        return Limit(time=time)
    commit = history.find_commit(text)
    if commit is None:
        hint = "Give a date such as 2024-05-01 or '3 months ago', a tag, a branch or a commit."
        if history.is_shallow:
            hint += " This clone is shallow and may lack it."
        raise UnknownRevisionError(f"{text!r} is neither a date nor a revision of this repository", hint=hint)
    return Limit(commit=commit)


def parse_time(text: str) -> datetime | None:
    """Parse a date or a time, in UTC unless it says otherwise; None if it is neither."""
    if match := _AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(days=int(match[1]) * _DAYS[match[2].lower()])
    if match := _PARTIAL_DATE.fullmatch(text):
        try:
            return datetime(int(match[1]), int(match[2] or 1), 1, tzinfo=UTC)
        except ValueError:
            return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
