"""Summaries of files and folders, as an array attached to a generation: JSON as bytes."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.stores.pointer import REBUILD_HINT

OVERVIEWS_ARRAY: Final = "overviews"
"""Name of the attached array."""


def pack_overviews(sentences: Mapping[str, str]) -> NDArray[np.uint8]:
    """Encode summaries by path; a folder's path ends with ``/``."""
    return np.frombuffer(orjson.dumps(dict(sentences)), np.uint8)


def unpack_overviews(arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Decode the summaries from the arrays of a generation, by path; empty if it has none.

    Raises:
        StoreError: The array is damaged.
    """
    if OVERVIEWS_ARRAY not in arrays:
        return {}
    try:
        stored = orjson.loads(arrays[OVERVIEWS_ARRAY].tobytes())
    except ValueError as error:
        raise StoreError("The summaries of files are damaged", hint=REBUILD_HINT) from error
    if not (isinstance(stored, dict) and all(isinstance(value, str) for value in stored.values())):
        raise StoreError("The summaries of files are damaged", hint=REBUILD_HINT)
    return stored
