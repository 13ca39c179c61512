"""How the service takes memory from the system."""

import ctypes
import sys
from typing import Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX of <malloc.h>
_ARENAS: Final = 2


def bound_arenas() -> None:
    """Have glibc keep few heaps. By default each of many threads has its own, and what was freed in one fills no other.

    It must be called before there are threads. Where there is no glibc, nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, _ARENAS)
