"""Sentences on files and folders, as an array that a generation carries: JSON as bytes."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.stores.pointer import REBUILD_HINT

OVERVIEWS_ARRAY: Final = "overviews"
"""The name of the array among those of a generation."""


def pack_overviews(sentences: Mapping[str, str]) -> NDArray[np.uint8]:
    """Return sentences by place: a file's path, or a folder's with ``/`` at its end."""
    return np.frombuffer(orjson.dumps(dict(sentences)), np.uint8)


def unpack_overviews(arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Return the sentences among the arrays of a generation, by place; none if it carries none.

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
