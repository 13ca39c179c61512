"""How generations are numbered, and how long replaced ones keep their files for readers that have them open."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from coderag.stores.disk import map_storage_errors
from coderag.stores.pointer import POINTER_FILE, Pointer, RetiredGeneration, utc_now

RETENTION_PERIOD = timedelta(minutes=10)
"""How long a replaced generation keeps its files for readers that have it open. The previous one keeps them anyway."""

MAX_RETAINED = 8
"""However often commits follow one another, no more replaced generations are kept: each has its own arrays."""

_match_arrays_name = re.compile(r"lexical-(\d+)").match


def format_arrays_name(generation: int) -> str:
    """Return the name of the directory with a generation's arrays."""
    return f"lexical-{generation:06d}"


def compute_next_generation(root: Path, previous: Pointer | None) -> int:
    """Return the number of the generation that the next commit makes.

    Args:
        root: The format's directory.
        previous: What the pointer says; None if there is none, or none that can be read.
    """
    if previous is not None:
        return previous.generation + 1
    if not (root / POINTER_FILE).exists():
        return 1
    # The pointer is damaged: a reader may have a generation open that only the directories still know.
    names = (_match_arrays_name(entry.name) for entry in root.iterdir())
    return max((int(name[1]) for name in names if name), default=0) + 1


def list_retained(previous: Pointer | None) -> tuple[RetiredGeneration, ...]:
    """Return the generations whose files stay: the one before, and those that a reader may still have open."""
    if previous is None:
        return ()
    cutoff = datetime.now(UTC) - RETENTION_PERIOD
    recent = [entry for entry in previous.retained if datetime.fromisoformat(entry.retired) > cutoff]
    retired = RetiredGeneration(previous.generation, previous.tables, previous.lexical, utc_now())
    return (retired, *recent)[:MAX_RETAINED]


def find_unused_arrays(root: Path, previous: Pointer | None, new_name: str) -> list[Path]:
    """Return the directories of arrays that are not kept, nor about to be made."""
    retained_names = {retired.lexical for retired in list_retained(previous)}
    with map_storage_errors(f"read {root}"):
        entries = list(root.iterdir()) if retained_names else []
    return [
        entry
        for entry in entries
        if _match_arrays_name(entry.name) and entry.name not in retained_names and not entry.name.startswith(new_name)
    ]
