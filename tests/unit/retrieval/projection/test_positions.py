"""Places on the map: neighbours stay together, and a map stays as it was while few chunks are new."""

import numpy as np
import pytest

from coderag.retrieval.projection.neighbours import find_neighbours
from coderag.retrieval.projection.pca import project_to_components
from coderag.retrieval.projection.placement import align_positions, place_points
from coderag.retrieval.projection.positions import can_extend, compute_positions, extend_positions
from coderag.retrieval.projection.quality import measure_trustworthiness

TOPICS = 12


@pytest.fixture(scope="module")
def vectors():
    """Unit vectors around some topics, in as many directions as a small embedding model has."""
    random = np.random.default_rng(7)
    centres = random.normal(size=(TOPICS, 64))
    points = np.repeat(centres, 70, axis=0) + random.normal(scale=0.5, size=(TOPICS * 70, 64))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def place(vectors, method="pca", previous=None):
    is_known = np.full(len(vectors), previous is not None)
    places = np.zeros((len(vectors), 2), np.float32) if previous is None else previous
    return compute_positions(vectors, places, is_known, method, lambda stage, share: None)


def test_components_keep_the_strongest_directions(vectors):
    components = project_to_components(vectors, 5)
    centred = vectors - vectors.mean(axis=0)
    strengths = np.linalg.svd(centred, compute_uv=False)[:5]
    np.testing.assert_allclose(np.linalg.norm(components, axis=0), strengths, rtol=1e-3)


def test_approximate_neighbours_are_almost_the_true_ones(vectors):
    rows, distances = find_neighbours(vectors, vectors, 10)
    true = np.argsort(-vectors @ vectors.T, axis=1)[:, :10]
    hits = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(rows.tolist(), true.tolist(), strict=True)])
    assert hits > 0.9
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (rows[:, 0] == np.arange(len(vectors))).mean() > 0.99


def test_neighbours_stay_together_better_than_with_components_alone(vectors):
    positions = place(vectors)
    assert (positions >= 0).all()
    assert (positions <= 1).all()
    plain = measure_trustworthiness(vectors, project_to_components(vectors, 2))
    assert measure_trustworthiness(vectors, positions) > plain + 0.04


def test_equal_vectors_give_equal_maps(vectors):
    np.testing.assert_array_equal(place(vectors), place(vectors))


def test_a_map_drawn_anew_resembles_the_previous_one(vectors):
    first = place(vectors)
    again = place(vectors, previous=first)
    moved = np.linalg.norm(again - first, axis=1)
    assert np.median(moved) < 0.1  # of the width of the map


def test_new_chunks_go_to_their_neighbours_and_old_ones_stay(vectors):
    first = place(vectors)
    is_known = np.arange(len(vectors)) % 10 != 0
    extended = extend_positions(vectors, np.where(is_known[:, None], first, 0), is_known)
    np.testing.assert_array_equal(extended[is_known], first[is_known])
    topics = np.arange(len(vectors)) // 70
    centres = np.stack([np.median(first[(topics == topic) & is_known], axis=0) for topic in range(TOPICS)])
    nearest = np.linalg.norm(extended[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (nearest == topics)[~is_known].mean() > 0.8


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_few_chunks_have_places_too(n, vectors):
    positions = place(vectors[:n])
    assert positions.shape == (n, 2)
    assert np.isfinite(positions).all()


def test_equal_chunks_are_no_problem():
    positions = place(np.tile(np.eye(1, 16, dtype=np.float32), (40, 1)))
    assert np.isfinite(positions).all()


def test_umap_is_an_alternative(vectors):
    pytest.importorskip("fastumap")
    assert measure_trustworthiness(vectors, place(vectors, "umap")) > 0.85


def test_alignment_undoes_a_rotation_and_a_reflection():
    random = np.random.default_rng(3)
    before = random.normal(size=(50, 2)).astype(np.float32)
    turned = (before @ np.array([[0.6, 0.8], [0.8, -0.6]]) + 4).astype(np.float32)
    np.testing.assert_allclose(align_positions(turned, before, np.ones(50, bool)), before, atol=1e-4)


def test_places_without_new_points_are_empty():
    empty = np.zeros((0, 4), np.float32)
    assert place_points(empty, np.ones((3, 4), np.float32), np.ones((3, 2), np.float32)).shape == (0, 2)


@pytest.mark.parametrize(
    ("n_known", "n", "n_fitted", "expected"),
    [(0, 10, 10, False), (100, 100, 100, True), (90, 100, 90, True), (70, 100, 70, False), (40, 40, 100, False)],
)
def test_a_map_is_extended_while_little_has_changed(n_known, n, n_fitted, expected):
    assert can_extend(n_known, n, n_fitted) is expected
