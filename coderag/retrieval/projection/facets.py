"""Facets of chunks that colour a map: language, role, folder."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

MAX_VALUES: Final = 40
OTHER: Final = "other"

_ROOT_FOLDER: Final = "./"
_DOMINANT_SHARE: Final = 0.4  # of all chunks, in one folder: its own folders are told apart then
_MAX_FOLDER_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet, with its number of chunks."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """Values of all chunks, the commonest value first; rare ones share the last code.

    Attributes:
        codes: uint8 (n_chunks,), index in `values`.
    """

    values: tuple[FacetValue, ...]
    codes: NDArray[np.uint8]


def build_facet(column: "pa.ChunkedArray") -> Facet:
    """Build the facet of a column of texts."""
    encoded = column.combine_chunks().dictionary_encode()
    return _rank([str(name) for name in encoded.dictionary.to_pylist()], encoded.indices.to_numpy())


def build_folder_facet(paths: "pa.ChunkedArray") -> Facet:
    """Build the facet of folders: the first of a path, and more where most chunks lie in one folder."""
    encoded = paths.combine_chunks().dictionary_encode()
    files = [str(path) for path in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy()
    sizes = np.bincount(codes, minlength=len(files)).tolist() if files else []
    folders = _choose_folders(files, sizes)
    names = sorted(set(folders))
    numbers = {name: number for number, name in enumerate(names)}
    return _rank(names, np.array([numbers[folder] for folder in folders], np.int64)[codes] if files else codes)


def _choose_folders(files: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Return the folder of each file."""
    depths = dict.fromkeys(range(len(files)), 1)
    for _ in range(_MAX_FOLDER_DEPTH - 1):
        totals: Counter[str] = Counter()
        for file, size in enumerate(sizes):
            totals[_get_folder(files[file], depths[file])] += size
        dominant = {name for name, total in totals.items() if total > _DOMINANT_SHARE * sum(sizes)}
        for file in depths:
            depths[file] += _get_folder(files[file], depths[file]) in dominant
    return [_get_folder(path, depths[file]) for file, path in enumerate(files)]


def _get_folder(path: str, depth: int) -> str:
    folders = path.split("/")[:-1][:depth]
    return "/".join(folders) + "/" if folders else _ROOT_FOLDER


def _rank(names: Sequence[str], codes: NDArray[np.integer]) -> Facet:
    """Renumber values by frequency; those beyond the limit become one."""
    counts = np.bincount(codes, minlength=len(names)).astype(np.int64)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    n_named = len(order) if len(order) <= MAX_VALUES else MAX_VALUES - 1
    ranks = np.full(len(names), n_named, np.uint8)
    ranks[order[:n_named]] = np.arange(n_named, dtype=np.uint8)
    values = [FacetValue(names[number], int(counts[number])) for number in order[:n_named]]
    if len(order) > n_named:
        values.append(FacetValue(OTHER, int(counts[order[n_named:]].sum())))
    return Facet(tuple(values), ranks[codes] if len(names) else np.zeros(0, np.uint8))
