"""Numbering of generations, and retention of replaced ones for readers that have them open."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from coderag.stores.disk import map_storage_errors
from coderag.stores.pointer import POINTER_FILE, Pointer, RetiredGeneration, format_utc_now

RETENTION_PERIOD = timedelta(minutes=10)
"""Time that a replaced generation keeps its files for its readers. The previous one always keeps them."""

MAX_RETAINED = 8
"""Number of replaced generations that are kept, however frequent commits are: each has its own arrays."""

_match_arrays_name = re.compile(r"lexical-(\d+)").match


def format_arrays_name(generation: int) -> str:
    """Format the name of the directory with a generation's arrays."""
    return f"lexical-{generation:06d}"


def compute_next_generation(root: Path, previous: Pointer | None) -> int:
    """Compute the number of the next generation.

    Args:
        root: Directory of the format.
        previous: Current pointer; None if it is missing or unreadable.
    """
    if previous is not None:
        return previous.generation + 1
    if not (root / POINTER_FILE).exists():
        return 1
    # The pointer is damaged; a reader may have a generation open that only its directory records.
    names = (_match_arrays_name(entry.name) for entry in root.iterdir())
    return max((int(name[1]) for name in names if name), default=0) + 1


def list_retained(previous: Pointer | None) -> tuple[RetiredGeneration, ...]:
    """List the generations whose files are kept: the previous one, and those that a reader may have open."""
    if previous is None:
        return ()
    cutoff = datetime.now(UTC) - RETENTION_PERIOD
    recent = [entry for entry in previous.retained if datetime.fromisoformat(entry.retired) > cutoff]
    retired = RetiredGeneration(previous.generation, previous.tables, previous.lexical, format_utc_now())
    return (retired, *recent)[:MAX_RETAINED]


def find_unused_arrays(root: Path, previous: Pointer | None, new_name: str) -> list[Path]:
    """Find directories of arrays that are neither retained nor being written."""
    retained_names = {retired.lexical for retired in list_retained(previous)}
    with map_storage_errors(f"read {root}"):
        entries = list(root.iterdir()) if retained_names else []
    return [
        entry
        for entry in entries
        if _match_arrays_name(entry.name) and entry.name not in retained_names and not entry.name.startswith(new_name)
    ]
