"""Approximate nearest neighbours: references are grouped into cells, and only the nearest cells are searched."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]

_CELL_SIZE: Final = 200
_PROBED_CELLS: Final = 8
_MEANS_ROUNDS: Final = 6
_MEANS_POINTS_PER_CELL: Final = 64
_BLOCK_ROWS: Final = 4_096


def find_neighbours(queries: FloatArray, references: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """Find the nearest references of each query, nearest first.

    Args:
        queries: float32 (n_queries, dimension).
        references: float32 (n_references, dimension); at least `k`.
        k: Number of neighbours.

    Returns:
        Rows of the references and squared distances, each (n_queries, k).
    """
    centres = _compute_cell_centres(references)
    members = _group_by_cell(_find_nearest_cells(references, centres, 1)[:, 0], len(centres))
    n_probed = min(len(centres), _PROBED_CELLS)
    probed = _find_nearest_cells(queries, centres, n_probed)
    rows = np.zeros((len(queries), k), np.int32)
    distances = np.full((len(queries), k), np.inf, np.float32)
    lengths = np.einsum("ij,ij->i", references, references)
    for cell, cell_queries in enumerate(_group_by_cell(probed[:, 0], len(centres))):
        if not len(cell_queries):
            continue
        nearby = _choose_cells(cell, centres, members, n_probed, k)
        candidates = np.concatenate([members[number] for number in nearby])
        for start in range(0, len(cell_queries), _BLOCK_ROWS):
            block = cell_queries[start : start + _BLOCK_ROWS]
            products = queries[block] @ references[candidates].T
            gaps = lengths[candidates] - 2 * products
            best = np.argpartition(gaps, k - 1, axis=1)[:, :k] if len(candidates) > k else _list_columns(gaps)
            order = np.take_along_axis(gaps, best, 1).argsort(axis=1, kind="stable")
            best = np.take_along_axis(best, order, 1)
            rows[block] = candidates[best]
            own = np.einsum("ij,ij->i", queries[block], queries[block])[:, None]
            distances[block] = np.maximum(np.take_along_axis(gaps, best, 1) + own, 0)
    return rows, distances


def _choose_cells(cell: int, centres: FloatArray, members: list[IntArray], n_cells: int, k: int) -> list[int]:
    """Choose the cells nearest to a cell, so many that they have at least k members."""
    order = ((centres - centres[cell]) ** 2).sum(axis=1).argsort(kind="stable").tolist()
    chosen: list[int] = []
    size = 0
    for number in order:
        if len(chosen) >= n_cells and size >= k:
            break
        chosen.append(number)
        size += len(members[number])
    return chosen


def _compute_cell_centres(points: FloatArray) -> FloatArray:
    """Compute cell centres by k-means on evenly spaced points."""
    n_cells = max(1, len(points) // _CELL_SIZE)
    sample = points[:: max(1, len(points) // (n_cells * _MEANS_POINTS_PER_CELL))]
    centres: FloatArray = sample[np.linspace(0, len(sample) - 1, n_cells).astype(int)].copy()
    for _ in range(_MEANS_ROUNDS if n_cells > 1 else 0):
        nearest = _find_nearest_cells(sample, centres, 1)[:, 0]
        sizes = np.bincount(nearest, minlength=n_cells)
        sums = np.stack([np.bincount(nearest, column, n_cells) for column in sample.T], axis=1)
        has_members = sizes > 0
        centres[has_members] = (sums[has_members] / sizes[has_members, None]).astype(np.float32)
    return centres


def _find_nearest_cells(points: FloatArray, centres: FloatArray, n_cells: int) -> IntArray:
    """Return the nearest cells of each point, nearest first."""
    lengths = np.einsum("ij,ij->i", centres, centres)
    result = np.empty((len(points), n_cells), np.int32)
    for start in range(0, len(points), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        gaps = lengths - 2 * (points[block] @ centres.T)
        if n_cells == 1:
            result[block, 0] = gaps.argmin(axis=1)
        else:
            result[block] = gaps.argsort(axis=1, kind="stable")[:, :n_cells]
    return result


def _group_by_cell(cells: IntArray, n_cells: int) -> list[IntArray]:
    """Return the rows of each cell."""
    order = cells.argsort(kind="stable").astype(np.int32)
    return np.split(order, np.cumsum(np.bincount(cells, minlength=n_cells))[:-1])


def _list_columns(values: FloatArray) -> NDArray[np.int64]:
    return np.broadcast_to(np.arange(values.shape[1]), values.shape).copy()
