"""Memory of the machine or of the container in which this process runs."""

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

_CONTAINER_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files of control groups, versions 2 and 1."""

_ASSUMED_BYTES: Final = 8 * 1024**3
"""Memory of a machine that does not tell."""


@cache
def read_memory_bytes(limits: Sequence[Path] = _CONTAINER_LIMITS) -> int:
    """Return how many bytes of memory there are for this process and its neighbours.

    Args:
        limits: Files with the limit of the container, if there is one.
    """
    return min([_read_physical_bytes(), *(limit for path in limits if (limit := _read_limit(path)))])


def _read_physical_bytes() -> int:
    if sys.platform == "win32":
        kilobytes = ctypes.c_ulonglong()
        is_known = ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes))
        return kilobytes.value * 1024 if is_known else _ASSUMED_BYTES
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return _ASSUMED_BYTES


def _read_limit(path: Path) -> int:
    """Return the limit in a file; 0 if there is none."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return 0
    return int(text) if text.isdecimal() else 0
