"""Layouts of siblings."""

import numpy as np
import pytest

from coderag.codegraph.view.layout import MAX_FORCED, Affinities, lay_out_siblings


def make_affinities(n: int, pairs: int, seed: int = 0) -> Affinities:
    random = np.random.default_rng(seed)
    first, second = random.integers(0, n, pairs), random.integers(0, n, pairs)
    distinct = first != second
    return Affinities(first[distinct], second[distinct], random.integers(1, 40, pairs)[distinct].astype(float))


@pytest.mark.parametrize("n", [1, 2, 3, 17, 120, MAX_FORCED + 50])
def test_circles_lie_in_the_unit_circle_and_do_not_overlap(n):
    weights = np.random.default_rng(n).pareto(1, n) * 3 + 1
    places = lay_out_siblings(weights, make_affinities(n, 3 * n))
    assert (np.hypot(places[:, 0], places[:, 1]) + places[:, 2] <= 1).all()
    distances = np.hypot(places[:, None, 0] - places[:, 0], places[:, None, 1] - places[:, 1])
    np.fill_diagonal(distances, np.inf)
    assert (distances - places[:, None, 2] - places[:, 2] > -1e-3).all()
    assert places[:, 2].min() > 0


def test_the_same_input_gives_the_same_layout():
    weights, affinities = np.arange(1.0, 60.0), make_affinities(59, 100)
    assert (lay_out_siblings(weights, affinities) == lay_out_siblings(weights, affinities)).all()


def test_related_circles_are_closer_than_others():
    n = 40
    pairs = [(first, second) for first in range(n) for second in range(first) if first % 4 == second % 4]
    first, second = np.array(pairs).T
    places = lay_out_siblings(np.ones(n), Affinities(first, second, np.full(len(pairs), 5.0)))
    distances = np.hypot(places[:, None, 0] - places[:, 0], places[:, None, 1] - places[:, 1])
    is_related = (np.arange(n)[:, None] % 4 == np.arange(n) % 4) & ~np.eye(n, dtype=bool)
    is_other = np.arange(n)[:, None] % 4 != np.arange(n) % 4
    assert distances[is_related].mean() < 0.75 * distances[is_other].mean()


def test_known_circles_stay_close_to_their_places():
    weights, affinities = np.ones(50), make_affinities(50, 80)
    before = lay_out_siblings(weights, affinities)
    previous = np.vstack([before, np.full((1, 3), np.nan, np.float32)])
    after = lay_out_siblings(np.ones(51), make_affinities(51, 80), previous)
    assert np.hypot(*(after[:50, :2] - before[:, :2]).T).mean() < 0.08
