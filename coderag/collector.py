"""The cyclic garbage collector, paused where much is made that lives on."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector for work that makes many objects at once, which are kept or freed by counting.

    It would search everything alive again and again: 40 % of the time of parsing a file or of opening an index.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
