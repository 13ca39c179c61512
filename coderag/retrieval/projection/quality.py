"""Quality of a map: how many neighbours in it are neighbours in truth."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]

_SAMPLE: Final = 300


def measure_trustworthiness(vectors: FloatArray, positions: FloatArray, k: int = 12) -> float:
    """Measure trustworthiness on evenly spaced points: 1 if all near points on the map are near in truth, 0.5 at random.

    Source: Venna and Kaski, Neighborhood preservation in nonlinear projection methods (2001).

    Args:
        vectors: float32 (n, dimension).
        positions: float32 (n, 2).
        k: Number of neighbours.
    """
    n = len(vectors)
    if n < 3 * k:
        return 1.0
    sample = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(int)
    penalty = 0
    for row in sample:
        neighbours = np.argpartition(_measure(positions, row), k)[:k]
        truth = _measure(vectors, row)
        ranks = (truth[None, :] < truth[neighbours, None]).sum(axis=1) + 1
        penalty += int(np.maximum(ranks - k, 0).sum())
    return 1 - 2 * penalty / (len(sample) * k * (2 * n - 3 * k - 1))


def _measure(points: FloatArray, row: int) -> FloatArray:
    """Return the squared distances to a point; its own is infinite."""
    gaps = points - points[row]
    squares: FloatArray = np.einsum("ij,ij->i", gaps, gaps)
    squares[row] = np.inf
    return squares
