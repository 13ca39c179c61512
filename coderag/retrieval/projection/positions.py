"""Places of all chunks of a generation: computed together, or added to those of the previous map."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.models.extras import require_extra
from coderag.retrieval.projection.layout import compute_layout
from coderag.retrieval.projection.neighbours import find_neighbours
from coderag.retrieval.projection.pca import project_to_components
from coderag.retrieval.projection.placement import align_positions, place_points
from coderag.retrieval.projection.projection import MAX_COORDINATE, ProjectionMethod

FloatArray = NDArray[np.float32]
Report = Callable[[str, float], None]
"""Called with a stage and the share of it that is done."""

_COMPONENTS: Final = 50
_NEIGHBOURS: Final = 15
_MAX_FITTED: Final = 25_000  # points that are laid out together; the rest is placed between them
_MAX_REFERENCES: Final = 50_000
_MIN_LAID_OUT: Final = 8
_START_WIDTH: Final = 5.0  # standard deviation of first positions, in units of the layout
_MARGIN: Final = 0.03
_EDGE_PERCENTILES: Final = (0.05, 99.95)  # what lies beyond is moved to the edge

_MAX_ADDED_SHARE: Final = 0.25  # of new chunks since all were placed together


def compute_positions(
    vectors: FloatArray,
    previous: FloatArray,
    is_known: NDArray[np.bool_],
    method: ProjectionMethod,
    report: Report,
) -> FloatArray:
    """Compute all positions together: float32 (n, 2), 0 to 1; as near to previous ones as a rotation brings them.

    Args:
        vectors: float32 (n, dimension).
        previous: float32 (n, 2), previous positions, 0 to 1; read where `is_known`.
        is_known: bool (n,).
        method: Method.
        report: Called with progress.
    """
    n = len(vectors)
    if not n:
        return np.zeros((0, 2), np.float32)
    report("components", 0.0)
    components = project_to_components(vectors, _COMPONENTS)
    fitted = np.arange(n) if n <= _MAX_FITTED else np.linspace(0, n - 1, _MAX_FITTED).astype(np.int64)
    points = components[fitted]
    start = _choose_start(points, previous[fitted], is_known[fitted])
    laid_out = _lay_out(points, start, method, report)
    laid_out = align_positions(laid_out, previous[fitted] * _measure_width(laid_out), is_known[fitted])
    positions = np.empty((n, 2), np.float32)
    positions[fitted] = laid_out
    rest = np.setdiff1d(np.arange(n), fitted, assume_unique=True)
    report("places", 0.0)
    positions[rest] = place_points(components[rest], points, laid_out)
    return _fit_to_frame(positions)


def extend_positions(vectors: FloatArray, previous: FloatArray, is_known: NDArray[np.bool_]) -> FloatArray:
    """Keep known positions, and place new chunks between their nearest known ones."""
    known = np.flatnonzero(is_known)
    references = known[:: len(known) // _MAX_REFERENCES + 1]
    positions = previous.copy()
    positions[~is_known] = np.clip(place_points(vectors[~is_known], vectors[references], previous[references]), 0, 1)
    return positions


def can_extend(n_known: int, n: int, n_fitted: int) -> bool:
    """Return whether so few chunks are new, since all were placed together, that they can be added to the map."""
    return n_known > 0 and n - n_known <= _MAX_ADDED_SHARE * n and abs(n - n_fitted) <= _MAX_ADDED_SHARE * n_fitted


def to_coordinates(positions: FloatArray) -> NDArray[np.uint16]:
    """Convert positions of 0 to 1 to integers."""
    return np.rint(np.clip(positions, 0, 1) * MAX_COORDINATE).astype(np.uint16)


def _lay_out(points: FloatArray, start: FloatArray, method: ProjectionMethod, report: Report) -> FloatArray:
    if len(points) < _MIN_LAID_OUT:
        return start
    report("neighbours", 0.0)
    k = min(_NEIGHBOURS, len(points) - 1)
    rows, distances = _drop_self(*find_neighbours(points, points, k + 1))
    report("layout", 0.0)
    if method == "umap":
        return _run_umap(points, rows, distances, start)
    return compute_layout(rows, distances, start, report=lambda share: report("layout", share))


def _run_umap(points: FloatArray, rows: NDArray[np.int32], distances: FloatArray, start: FloatArray) -> FloatArray:
    require_extra("fastumap", "umap", "the projection 'umap'")
    from fastumap import umap_project  # noqa: PLC0415  # an extra

    neighbours = rows.astype(np.int64), np.sqrt(distances.astype(np.float64))
    result = umap_project(
        points.astype(np.float64),
        2,
        n_neighbors=rows.shape[1],
        precomputed_knn=neighbours,
        init=start.astype(np.float64),
        random_state=1,
    )
    return np.asarray(result, np.float32)


def _drop_self(rows: NDArray[np.int32], distances: FloatArray) -> tuple[NDArray[np.int32], FloatArray]:
    """Drop each point from its own neighbours; the farthest one where an equal point hides it."""
    is_self = rows == np.arange(len(rows))[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    shape = len(rows), rows.shape[1] - 1
    return rows[~is_self].reshape(shape), distances[~is_self].reshape(shape)


def _choose_start(points: FloatArray, previous: FloatArray, is_known: NDArray[np.bool_]) -> FloatArray:
    """Choose first positions: previous ones, places between them, or the first two components."""
    if is_known.any():
        start = extend_positions(points, previous, is_known) - np.float32(0.5)
    else:
        start = np.zeros((len(points), 2), np.float32)
        start[:, : min(2, points.shape[1])] = points[:, :2]
    deviation = float(start.std())
    return start * np.float32(_START_WIDTH / deviation) if deviation > 0 else start


def _measure_width(positions: FloatArray) -> np.float32:
    return np.float32(np.ptp(positions, axis=0).max(initial=1e-6))


def _fit_to_frame(positions: FloatArray) -> FloatArray:
    """Scale and move positions into 0 to 1, both axes alike."""
    if not len(positions):
        return positions
    low, high = np.percentile(positions, _EDGE_PERCENTILES, axis=0)
    width = max(float((high - low).max()), 1e-6) / (1 - 2 * _MARGIN)
    framed: FloatArray = ((positions - (low + high) / 2) / width + 0.5).astype(np.float32)
    return np.clip(framed, 0, 1)
