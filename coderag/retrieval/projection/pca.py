"""Principal components of vectors, computed from blocks so that the matrix is never copied."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]

_BLOCK_ROWS: Final = 8_192


def project_to_components(vectors: FloatArray, n_components: int) -> FloatArray:
    """Project vectors to their principal components, the strongest first.

    The sign of each component is fixed, so that equal vectors give equal results.

    Args:
        vectors: float32 (n, dimension).
        n_components: Number of components; no more than the dimension are returned.

    Returns:
        float32 (n, components).
    """
    n, dimension = vectors.shape
    mean, basis = _fit(vectors, min(n_components, dimension))
    result = np.empty((n, basis.shape[1]), np.float32)
    for start in range(0, n, _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        result[block] = (vectors[block] - mean) @ basis
    return result


def _fit(vectors: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the basis: float32 (dimension,) and (dimension, n_components)."""
    import scipy.linalg  # noqa: PLC0415  # 0.3 s

    n, dimension = vectors.shape
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32) if n else np.zeros(dimension, np.float32)
    covariance = np.zeros((dimension, dimension), np.float64)
    for start in range(0, n, _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS] - mean
        covariance += block.T @ block
    _, basis = scipy.linalg.eigh(covariance, subset_by_index=[dimension - n_components, dimension - 1])
    basis = basis[:, ::-1]
    strongest = np.abs(basis).argmax(axis=0)
    basis = basis * np.where(basis[strongest, np.arange(n_components)] < 0, -1.0, 1.0)
    return mean, basis.astype(np.float32)
