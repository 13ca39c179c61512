"""Times of Confluence and Jira: parsing replies, and the start of a window in a query.

CQL and JQL know minutes only, without an offset, in a time zone of the server's choice: JQL in that of the user, CQL on Data
Center too, CQL on Cloud in that of the site.

Source: https://support.atlassian.com/jira-software-cloud/docs/jql-fields, https://jira.atlassian.com/browse/CONFCLOUD-70966
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

MAX_BEHIND_UTC: Final = timedelta(hours=12)
"""The largest distance behind UTC of a time zone, so that a window in an unknown zone does not begin too late."""

_FORMAT: Final = "%Y-%m-%d %H:%M"


def parse_time(value: object) -> datetime | None:
    """Parse a time of a reply, such as ``2024-05-01T12:00:00.000+0200``; None if it is none."""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def find_zone(name: str) -> tzinfo | None:
    """Find a time zone by its IANA name; None if it is empty or unknown here."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None


def format_window_start(moment: datetime, zone: tzinfo | None) -> str:
    """Format a moment for a query so that it denotes that moment or an earlier one.

    Args:
        zone: Time zone in which the server reads it; None if that is unknown.
    """
    if zone is None:
        return (moment.astimezone(UTC) - MAX_BEHIND_UTC).strftime(_FORMAT)
    local = moment.astimezone(zone).replace(tzinfo=None, fold=0)
    # When clocks are set back, an hour occurs twice; the server may take its second occurrence.
    offsets = [local.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1)]
    return (local - abs(offsets[0] - offsets[1])).strftime(_FORMAT)
