"""Layouts of containers, stored beside the generation so that pictures stay the same."""

import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.view.layout import Affinities, Places, lay_out_siblings
from coderag.stores.view_files import ViewFiles

_NAME: Final = "graph-layout"
_MAX_CONTAINERS: Final = 4_000
_MAX_PLACES: Final = 200_000
_SEPARATOR: Final = "\0"  # in no path and no name


class _Layout(NamedTuple):
    """Layout of one container. A layout of an earlier generation has no signature: it is only where a new one starts."""

    names: Sequence[str]
    signature: int | None
    places: Places


class LayoutCache:
    """Layouts of containers by key.

    Args:
        files: Where layouts are stored; None keeps them in memory.
    """

    def __init__(self, files: ViewFiles | None = None) -> None:
        self._files = files
        self._layouts: dict[str, _Layout] = {}
        self._has_new = False
        if files is None:
            return
        if (arrays := files.read(_NAME)) is not None:
            self._layouts = _unpack(arrays)
        elif (arrays := files.read_previous(_NAME)) is not None:
            self._layouts = {key: layout._replace(signature=None) for key, layout in _unpack(arrays).items()}

    def lay_out(
        self, key: str, names: Sequence[str], weights: NDArray[np.float64], measure: Callable[[], Affinities]
    ) -> Places:
        """Return the layout of a container's children: the stored one, else a new one close to the stored one.

        Args:
            key: Key of the container.
            names: Names of the children.
            weights: Their weights.
            measure: Returns the edges between them; called for a new layout only.
        """
        signature = zlib.crc32(weights.tobytes(), zlib.crc32(_SEPARATOR.join(names).encode(errors="replace")))
        known = self._layouts.get(key)
        if known is not None and known.signature == signature:
            return known.places
        places = lay_out_siblings(weights, measure(), _match_places(known, names))
        self._layouts[key] = _Layout(names, signature, places)
        self._has_new = True
        return places

    def list_keys(self) -> list[str]:
        """List the keys of the containers with a layout, of this or an earlier generation."""
        return list(self._layouts)

    def save(self) -> None:
        """Store new layouts; what cannot be stored is computed again when it is needed."""
        n_places = sum(len(layout.names) for layout in self._layouts.values())
        if self._files is None or not self._has_new or len(self._layouts) > _MAX_CONTAINERS or n_places > _MAX_PLACES:
            return
        with suppress(OSError):
            self._files.write(_NAME, _pack(self._layouts))
        self._has_new = False


def _match_places(known: _Layout | None, names: Sequence[str]) -> Places | None:
    if known is None:
        return None
    places_by_name = dict(zip(known.names, known.places, strict=True))
    unknown = np.full(3, np.nan, np.float32)
    return np.array([places_by_name.get(name, unknown) for name in names], np.float32)


def _pack(layouts: dict[str, _Layout]) -> dict[str, NDArray[np.generic]]:
    text = _SEPARATOR.join(_SEPARATOR.join([key, *layout.names]) for key, layout in layouts.items())
    signatures = [-1 if layout.signature is None else layout.signature for layout in layouts.values()]
    return {
        "text": np.frombuffer(text.encode(errors="surrogatepass"), np.uint8),
        "counts": np.array([len(layout.names) for layout in layouts.values()], np.int64),
        "signatures": np.array(signatures, np.int64),
        "places": np.concatenate([layout.places for layout in layouts.values()]),
    }


def _unpack(arrays: dict[str, NDArray[np.generic]]) -> dict[str, _Layout]:
    """Return stored layouts; none if they are damaged."""
    try:
        words = arrays["text"].tobytes().decode(errors="surrogatepass").split(_SEPARATOR)
        counts, signatures, places = arrays["counts"].tolist(), arrays["signatures"].tolist(), arrays["places"]
        layouts, word, row = {}, 0, 0
        for count, signature in zip(counts, signatures, strict=True):
            names = words[word + 1 : word + 1 + count]
            rows = np.asarray(places[row : row + count], np.float32)
            if len(names) != count or rows.shape != (count, 3):
                return {}
            layouts[words[word]] = _Layout(names, None if signature < 0 else signature, rows)
            word, row = word + 1 + count, row + count
    except (KeyError, UnicodeDecodeError, ValueError, IndexError):
        return {}
    return layouts
