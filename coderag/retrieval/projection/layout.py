"""Two-dimensional layout in which neighbours stay together: UMAP's forces, applied to all points at once.

Source: McInnes, Healy, Melville, UMAP (2018). UMAP moves one edge after another, which NumPy cannot do quickly. Here
every round adds the attraction of all edges, and the repulsion of a few random points, with momentum.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]

DEFAULT_ROUNDS: Final = 300

_A: Final = np.float32(1.577)
_B: Final = np.float32(0.895)  # UMAP's curve for a minimum distance of 0.1
_SAMPLES: Final = 5  # random points that repel a point in a round
_RATE: Final = 0.1
_MOMENTUM: Final = 0.8
_MAX_FORCE: Final = 4.0
_SEED: Final = 1
_EPSILON: Final = np.float32(1e-3)


def compute_layout(
    rows: IntArray,
    distances: FloatArray,
    start: FloatArray,
    *,
    rounds: int = DEFAULT_ROUNDS,
    report: Callable[[float], None] | None = None,
) -> FloatArray:
    """Compute positions from nearest neighbours. Equal inputs give equal positions.

    Args:
        rows: int32 (n, k), neighbours of each point, without itself.
        distances: float32 (n, k), their squared distances.
        start: float32 (n, 2), first positions, some units wide.
        rounds: Number of rounds.
        report: Called with the share of the work that is done.
    """
    import scipy.sparse as sp  # noqa: PLC0415  # 0.3 s

    n = len(start)
    weights = _compute_weights(rows, distances)
    sources = np.repeat(np.arange(n, dtype=np.int32), np.diff(weights.indptr))
    pulls = sp.csr_matrix((weights.data.copy(), weights.indices, weights.indptr), shape=(n, n))
    degrees = np.asarray(weights.sum(axis=1)).ravel().astype(np.float32)
    random = np.random.default_rng(_SEED)
    points = start[:, 0] + np.complex64(1j) * start[:, 1]  # a complex number is a position: one gather for both axes
    speeds = np.zeros_like(points)
    for number in range(rounds):
        gaps = points[sources] - points[weights.indices]
        pulls.data = weights.data * _compute_attraction(_compute_squares(gaps))
        attraction: NDArray[np.complex64] = np.asarray(pulls @ points)
        forces = attraction - points * np.asarray(pulls.sum(axis=1)).ravel()
        pushes = np.zeros_like(points)
        for _ in range(_SAMPLES):
            gaps = points - points[random.integers(0, n, n)]
            pushes += gaps * _compute_repulsion(_compute_squares(gaps))
        forces = forces + pushes * degrees
        forces = forces * np.minimum(1, _MAX_FORCE / np.maximum(np.abs(forces), _EPSILON))
        speeds = _MOMENTUM * speeds + forces
        points = (points + _RATE * (1 - number / rounds) * speeds).astype(np.complex64)
        if report:
            report((number + 1) / rounds)
    return np.stack([points.real, points.imag], axis=1)


def _compute_weights(rows: IntArray, distances: FloatArray) -> "sp.csr_matrix[np.float32]":  # type: ignore[name-defined]  # noqa: F821
    """Compute how strongly neighbours attract each other: a symmetric matrix, at most 1."""
    import scipy.sparse as sp  # noqa: PLC0415  # as above

    n, k = rows.shape
    lengths = np.sqrt(distances)
    nearest = lengths[:, :1]
    scale = np.maximum((lengths - nearest).mean(axis=1, keepdims=True), np.float32(1e-6))
    values = np.exp(-(lengths - nearest) / scale).astype(np.float32)
    directed = sp.csr_matrix((values.ravel(), (np.repeat(np.arange(n), k), rows.ravel())), shape=(n, n))
    weights = (directed + directed.T - directed.multiply(directed.T)).tocsr()
    weights.sort_indices()
    return weights


def _compute_squares(gaps: NDArray[np.complex64]) -> FloatArray:
    squares: FloatArray = gaps.real**2 + gaps.imag**2
    return squares


def _compute_attraction(squares: FloatArray) -> FloatArray:
    squares = squares + _EPSILON
    power = squares**_B
    return (2 * _A * _B * power / (squares * (1 + _A * power))).astype(np.float32)


def _compute_repulsion(squares: FloatArray) -> FloatArray:
    squares = squares + _EPSILON
    return (2 * _B / (squares * (1 + _A * squares**_B))).astype(np.float32)
