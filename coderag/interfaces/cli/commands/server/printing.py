"""Formatting of values that several commands print."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

ROLE_STYLES: Final = {"owner": "bold", "admin": "bold", "disabled": "red", "revoked": "red", "expired": "yellow"}
STATE_STYLES: Final = {"done": "green", "failed": "red", "running": "cyan", "queued": "yellow", "cancelled": "dim"}


def format_time(time: datetime | None) -> str:
    """Format a time to the minute, in UTC."""
    return f"{time:%Y-%m-%d %H:%M}" if time is not None else "-"


def to_record(row: Any, names: Sequence[str]) -> dict[str, object]:  # noqa: ANN401  # any table
    """Return attributes of a row as values of JSON."""
    return {name: getattr(row, name) for name in names}


def confirm_removal(question: str, *, yes: bool) -> bool:
    """Return whether to go on: without asking with ``--yes``."""
    from coderag.interfaces.cli.confirmation import confirm

    return yes or confirm(question)
