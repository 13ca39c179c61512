"""Memory management of long-lived processes with glibc; a no-op elsewhere."""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX of <malloc.h>
_MAX_ARENAS: Final = 2


def limit_heaps() -> None:
    """Limit the number of glibc heaps.

    By default each thread has its own, and memory freed in one is not reused by others.

    It must be called before threads start.
    """
    if (mallopt := _find_glibc_function("mallopt")) is not None:
        mallopt(_ARENA_MAX, _MAX_ARENAS)


def trim_heap() -> None:
    """Return freed memory to the system: after much work most of it is fragmented. Takes about 5 ms."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    if (malloc_trim := _find_glibc_function("malloc_trim")) is not None:
        malloc_trim(0)


@cache
def _find_glibc_function(name: str) -> Callable[..., Any] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
