"""Places for points on an existing map, and the alignment of a new map with the previous one."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.projection.neighbours import find_neighbours

FloatArray = NDArray[np.float32]

_NEIGHBOURS: Final = 4
_MIN_ALIGNED: Final = 3
_JITTER: Final = 0.002  # of the map's width, so that new points do not hide one another


def place_points(vectors: FloatArray, references: FloatArray, positions: FloatArray) -> FloatArray:
    """Place points between their nearest references.

    Args:
        vectors: float32 (n, dimension), of the points.
        references: float32 (m, dimension), of points with a place; at least one.
        positions: float32 (m, 2), their places.

    Returns:
        float32 (n, 2).
    """
    if not len(vectors):
        return np.zeros((0, 2), np.float32)
    rows, distances = find_neighbours(vectors, references, min(_NEIGHBOURS, len(references)))
    weights = 1 / (distances + np.float32(1e-6))
    weights **= 2  # near ones decide: a mean of distant places lies in nobody's neighbourhood
    weights /= weights.sum(axis=1, keepdims=True)
    places: FloatArray = np.einsum("ij,ijk->ik", weights, positions[rows])
    width = float(np.ptp(positions, axis=0).max()) if len(positions) else 1.0
    jitter = np.random.default_rng(len(vectors)).normal(0, _JITTER * width, places.shape)
    return places + jitter.astype(np.float32)


def align_positions(positions: FloatArray, previous: FloatArray, is_known: NDArray[np.bool_]) -> FloatArray:
    """Rotate, mirror and move a map so that known points come as near to their previous places as they can.

    Args:
        positions: float32 (n, 2).
        previous: float32 (n, 2); read where `is_known`.
        is_known: bool (n,).
    """
    if is_known.sum() < _MIN_ALIGNED:
        return positions
    source, target = positions[is_known], previous[is_known]
    source_mean, target_mean = source.mean(axis=0), target.mean(axis=0)
    left, _, right = np.linalg.svd((source - source_mean).T @ (target - target_mean))
    aligned: FloatArray = ((positions - source_mean) @ (left @ right) + target_mean).astype(np.float32)
    return aligned
