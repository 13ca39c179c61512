"""Layouts of siblings: circles in a unit circle that do not overlap, related ones close to one another."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.float32]
"""Array (n, 3): centre and radius of each circle, within the unit circle."""

MAX_FORCED: Final = 600
"""Above this number, circles are placed along a spiral: forces between all pairs would take seconds."""

_WEIGHT_EXPONENT: Final = 0.38  # of the radius; 0.5 would make areas proportional and small siblings invisible
_MIN_KNOWN_SHARE: Final = 0.5  # of circles with an earlier place: fewer, and all are laid out anew
_GOLDEN_ANGLE: Final = np.pi * (3 - np.sqrt(5))
_FILL: Final = 0.94  # of the radius of the unit circle; its rim has the label
_GRAVITY: Final = 0.15
_GAP: Final = 1.12  # between circles, relative to their radii
_MAX_PAIR_STEPS: Final = 6_000_000  # bounds the time to a tenth of a second
_MIN_STEPS, _MAX_STEPS = 24, 110
_MAX_OVERLAP: Final = 0.005  # of the distance; what remains is shrunk


class Affinities(NamedTuple):
    """Number of edges between siblings, given by their positions."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    counts: NDArray[np.float64]


def lay_out_siblings(weights: NDArray[np.float64], affinities: Affinities, previous: Places | None = None) -> Places:
    """Lay out circles in the unit circle, the same for the same input.

    Args:
        weights: Weight of each circle, 1 or more.
        affinities: Edges between them.
        previous: Their places in an earlier layout, NaN for new ones: they stay close to them.
    """
    radii = np.asarray(weights, np.float64) ** _WEIGHT_EXPONENT
    if len(radii) == 1:
        return np.array([[0.0, 0.0, 0.72]], np.float32)
    points = _place_spiral(radii)
    is_known = np.zeros(len(radii), bool)
    if previous is not None and len(previous):
        is_known = np.isfinite(previous[:, 0])
        scale = np.sqrt((radii**2).sum()) * _GAP / _FILL
        points[is_known] = previous[is_known, :2] * scale
        points[~is_known] = _start_close_to_relatives(points, is_known, affinities)
    if len(radii) <= MAX_FORCED:
        if len(affinities.first) and is_known.mean() < _MIN_KNOWN_SHARE:
            points = _apply_forces(points, radii, affinities)
        points = _separate(points, radii * _GAP)
    return _fit(points, radii)


def _place_spiral(radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place circles along a spiral, large ones in the middle."""
    order = np.argsort(-radii, kind="stable")
    area = np.cumsum(radii[order] ** 2) - radii[order] ** 2 / 2
    distances, angles = np.sqrt(area) * _GAP * 1.1, np.arange(len(radii)) * _GOLDEN_ANGLE
    points = np.empty((len(radii), 2))
    points[order] = np.column_stack([distances * np.cos(angles), distances * np.sin(angles)])
    return points


def _start_close_to_relatives(
    points: NDArray[np.float64], is_known: NDArray[np.bool_], affinities: Affinities
) -> NDArray[np.float64]:
    """Return a start for each new circle: the mean of known ones that it has edges with, else its own."""
    sums, totals = np.zeros_like(points), np.zeros(len(points))
    for own, far in ((affinities.first, affinities.second), (affinities.second, affinities.first)):
        is_used = is_known[far]
        np.add.at(sums, own[is_used], points[far[is_used]] * affinities.counts[is_used, None])
        np.add.at(totals, own[is_used], affinities.counts[is_used])
    starts = points.copy()
    has_relatives = totals > 0
    starts[has_relatives] = sums[has_relatives] / totals[has_relatives, None] + points[has_relatives] * 1e-3
    return starts[~is_known]


def _apply_forces(
    points: NDArray[np.float64], radii: NDArray[np.float64], affinities: Affinities
) -> NDArray[np.float64]:
    """Move related circles towards one another, and all apart.

    The sum of forces ``c[i, j] * (p[i] - p[j])`` over j is ``p[i] * c[i].sum() - c[i] @ p``.
    """
    n = len(points)
    steps = int(np.clip(_MAX_PAIR_STEPS / n**2, _MIN_STEPS, _MAX_STEPS))
    strength = np.zeros((n, n), np.float32)
    np.add.at(strength, (affinities.first, affinities.second), np.log1p(affinities.counts))
    strength += strength.T
    strength /= np.maximum(strength.sum(1, keepdims=True), 1)
    size = float(np.sqrt((radii**2).sum()))
    contact = ((radii[:, None] + radii) * _GAP).astype(np.float32)
    weight = contact**2 * (radii / radii.mean() * size / n / 4).astype(np.float32)
    for step in range(steps):
        inverse = _invert_distances(points)
        forces = weight * inverse**3 - strength * np.maximum(1 - contact * inverse, 0)
        moves = forces.sum(1, keepdims=True) * points - forces @ points - points * _GRAVITY
        lengths = np.sqrt((moves**2).sum(1, keepdims=True)) + 1e-9
        points = points + moves / lengths * np.minimum(lengths, size * 0.15 * (1 - step / steps))
    return points


def _separate(points: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Push overlapping circles apart until none overlap, or the steps are used up."""
    n = len(points)
    reach = (radii[:, None] + radii).astype(np.float32)
    share = (radii**2 / (radii[:, None] ** 2 + radii**2)).astype(np.float32)  # the lighter one moves further
    for _ in range(int(np.clip(_MAX_PAIR_STEPS / n**2, _MIN_STEPS, _MAX_STEPS))):
        inverse = _invert_distances(points)
        overlaps = np.maximum(reach * inverse - 1, 0)
        if overlaps.max() < _MAX_OVERLAP:
            break
        pushes = np.minimum(overlaps, 1e3) * share
        points = points + (pushes.sum(1, keepdims=True) * points - pushes @ points) * 0.9
    return points


def _invert_distances(points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the inverse distances between all pairs of points, 0 on the diagonal."""
    x, y = points.astype(np.float32).T
    squares = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    np.fill_diagonal(squares, np.inf)
    inverse: NDArray[np.float32] = 1 / np.sqrt(squares + np.float32(1e-6))
    return inverse


def _fit(points: NDArray[np.float64], radii: NDArray[np.float64]) -> Places:
    """Scale circles so that they lie within the unit circle, and shrink those that still overlap."""
    low, high = (points - radii[:, None]).min(0), (points + radii[:, None]).max(0)
    points = points - (low + high) / 2
    scale = _FILL / (np.sqrt((points**2).sum(1)) + radii).max()
    points, radii = points * scale, radii * scale
    overlaps = ((radii[:, None] + radii) * _invert_distances(points)).max(1)
    return np.column_stack([points, radii / np.maximum(overlaps, 1.0)]).astype(np.float32)
