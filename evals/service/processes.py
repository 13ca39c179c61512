"""Process tree and memory of this machine, from Linux's /proc."""

from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_PAGE_BYTES = 4_096


def list_descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    children: dict[int, list[int]] = {}
    for child, parent in _list_parents():
        children.setdefault(parent, []).append(child)
    pids: list[int] = []
    pending = [pid]
    while pending:
        below = children.get(pending.pop(), [])
        pids += below
        pending += below
    return pids


def read_resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it is gone."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        state = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in {"Z", "X"}


def _list_parents() -> Iterator[tuple[int, int]]:
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue  # the process has just ended
