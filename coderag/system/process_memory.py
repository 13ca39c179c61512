"""How a process that lives long takes memory from the system, and gives it back. Where there is no glibc, nothing happens."""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX of <malloc.h>
_MAX_ARENAS: Final = 2


def limit_heaps() -> None:
    """Have glibc keep few heaps. By default each of many threads has its own, and what was freed in one fills no other.

    It must be called before there are threads.
    """
    if (mallopt := _find_glibc_function("mallopt")) is not None:
        mallopt(_ARENA_MAX, _MAX_ARENAS)


def trim_heap() -> None:
    """Give the system what was freed: after much work most of it lies between what is still used. It takes some 5 ms."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    if (malloc_trim := _find_glibc_function("malloc_trim")) is not None:
        malloc_trim(0)


@cache
def _find_glibc_function(name: str) -> Callable[..., Any] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
