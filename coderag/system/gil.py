"""The turns of threads, shorter where work goes on that nobody waits for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SWITCH_INTERVAL_S: Final = 0.0005


@contextmanager
def yield_gil_sooner() -> Iterator[None]:
    """Have other threads get their turn sooner than usual, for work that nobody waits for.

    With the usual five milliseconds at each of its turns, a search beside it takes three times as long.
    """
    previous = sys.getswitchinterval()
    sys.setswitchinterval(min(previous, _SWITCH_INTERVAL_S))
    try:
        yield
    finally:
        if previous > _SWITCH_INTERVAL_S:  # else somebody else sets it back
            sys.setswitchinterval(previous)
