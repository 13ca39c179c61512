"""Quality of a map: how many neighbours in it are neighbours in truth."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]

_SAMPLE: Final = 300
_BATCH: Final = 16  # sampled points whose distances to all are in memory


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
    for rows in np.array_split(sample, -(-len(sample) // _BATCH)):
        nearest = np.argpartition(_measure(positions, rows), k, axis=0)[:k]
        distances = _measure(vectors, rows)
        for column, members in enumerate(nearest.T):
            ranks = (distances[:, column, None] < distances[members, column]).sum(axis=0) + 1
            penalty += int(np.maximum(ranks - k, 0).sum())
    return 1 - 2 * penalty / (len(sample) * k * (2 * n - 3 * k - 1))


def _measure(points: FloatArray, rows: NDArray[np.int64]) -> FloatArray:
    """Return squared distances to some points: float32 (n, n_rows), infinite to itself."""
    lengths = np.einsum("ij,ij->i", points, points)
    squares: FloatArray = lengths[:, None] - 2 * (points @ points[rows].T) + lengths[rows]
    squares[rows, np.arange(len(rows))] = np.inf
    return squares
