"""Clusters of points on a map: the hills of their density."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

MAX_CLUSTERS: Final = 40
_MIN_CLUSTERS: Final = 3

_CELLS: Final = 128  # along one side
_FIRST_BLUR, _BLUR_STEP, _LAST_BLUR = 1.5, 1.2, 24.0  # in cells
_MIN_SHARE: Final = 0.004  # of all points, in one cluster
_MIN_POINTS: Final = 3
_MIN_COVERED: Final = 0.6  # share of the points in clusters that are large enough


def find_clusters(positions: FloatArray) -> IntArray:
    """Find clusters: int64 (n,), the number of each point's cluster, the largest first. Equal inputs give equal results.

    Args:
        positions: float32 (n, 2), between 0 and 1.
    """
    from scipy import ndimage  # noqa: PLC0415  # only a new map needs it

    n = len(positions)
    cells = np.clip((positions * _CELLS).astype(np.int64), 0, _CELLS - 1)
    flat = cells[:, 1] * _CELLS + cells[:, 0]
    counts = np.bincount(flat, minlength=_CELLS * _CELLS).reshape(_CELLS, _CELLS).astype(np.float64)
    limit = int(np.clip(n**0.5 / 3, _MIN_CLUSTERS, MAX_CLUSTERS))
    min_size = max(_MIN_POINTS, int(n**0.5 / 3), int(n * _MIN_SHARE))
    blur = _FIRST_BLUR
    while blur <= _LAST_BLUR:
        hills = _find_hilltops(ndimage.gaussian_filter(counts, blur, mode="constant"))[flat]
        sizes = np.unique(hills, return_counts=True)[1]
        large = sizes[sizes >= min_size]
        if 0 < len(large) <= limit and large.sum() >= _MIN_COVERED * n:
            return _number_by_size(_merge_small(hills, positions, min_size))
        blur *= _BLUR_STEP
    return np.zeros(n, np.int64)


def _find_hilltops(density: NDArray[np.float64]) -> IntArray:
    """Return the top of the hill of each cell, by steps to the densest neighbour."""
    padded = np.pad(density, 1, constant_values=-1.0)
    shifts = [(dy, dx) for dy in (0, -1, 1) for dx in (0, -1, 1)]  # staying is first, and wins among equals
    size = len(density)
    around = np.stack([padded[1 + dy : 1 + dy + size, 1 + dx : 1 + dx + size] for dy, dx in shifts])
    steps = np.array([dy * size + dx for dy, dx in shifts])
    tops: IntArray = np.arange(size * size) + steps[around.argmax(axis=0)].ravel()
    while True:
        higher: IntArray = tops[tops]
        if np.array_equal(higher, tops):
            return higher
        tops = higher


def _merge_small(labels: IntArray, positions: FloatArray, min_size: int) -> IntArray:
    """Give the points of small clusters to the nearest large one."""
    names, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    centres = np.stack([np.bincount(numbers, axis) / sizes for axis in positions.T], axis=1)
    is_large = sizes >= min_size
    large = np.flatnonzero(is_large)
    gaps = ((centres[:, None] - centres[large][None]) ** 2).sum(axis=-1)
    target = np.where(is_large, np.arange(len(names)), large[gaps.argmin(axis=1)])
    merged: IntArray = target[numbers]
    return merged


def _number_by_size(labels: IntArray) -> IntArray:
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    ranks = np.empty(len(sizes), np.int64)
    ranks[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    ranked: IntArray = ranks[numbers]
    return ranked
