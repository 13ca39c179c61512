"""Several reads of a server at once: most of the time of a small request is its way."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

MAX_CONCURRENT_READS: Final = 4
T = TypeVar("T")
R = TypeVar("R")


def read_each(read: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
    """Call `read` for each argument, a few at once; return the results in the order of the arguments.

    Raises:
        Exception: The first error in this order; calls that have not begun are left out.
    """
    with ThreadPoolExecutor(MAX_CONCURRENT_READS, thread_name_prefix="source-read") as executor:
        futures = [executor.submit(read, argument) for argument in arguments]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
