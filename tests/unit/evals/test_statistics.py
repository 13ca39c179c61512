"""Intervals that are known, and differences that are there or not."""

from random import Random

import pytest

from evals.statistics import compute_difference, estimate


def test_the_interval_is_that_of_the_normal_distribution_where_there_are_many_values():
    """Of 400 coin throws: mean 0.5, standard error 0.025, and so 0.451 to 0.549."""
    found = estimate([0.0, 1.0] * 200)
    assert (found.mean, found.n) == (0.5, 400)
    assert found.low == pytest.approx(0.451, abs=0.006)
    assert found.high == pytest.approx(0.549, abs=0.006)


def test_equal_values_leave_no_doubt():
    found = estimate([0.25] * 3)
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


def test_the_same_values_have_the_same_interval_each_time():
    values = [Random(1).random() for _ in range(20)]
    assert estimate(values) == estimate(values)


def test_nothing_has_no_mean():
    with pytest.raises(ValueError, match="no values"):
        estimate([])


def test_no_change_is_neither_gain_nor_loss():
    found = compute_difference([0.1, 0.9, 0.4], [0.1, 0.9, 0.4])
    assert (found.mean, found.low, found.high, found.better, found.worse) == (0, 0, 0, 0, 0)
    assert not found.is_gain
    assert not found.is_loss


def test_pairs_show_a_small_loss_that_means_alone_would_hide():
    before = [number / 30 for number in range(30)]
    after = [value - 0.02 for value in before]
    found = compute_difference(before, after)
    assert found.mean == pytest.approx(-0.02)
    assert found.is_loss
    assert (found.better, found.worse, found.n) == (0, 30, 30)
    assert compute_difference(after, before).is_gain


def test_as_many_wins_as_losses_prove_nothing():
    found = compute_difference([0.0, 1.0] * 10, [1.0, 0.0] * 10)
    assert not found.is_gain
    assert not found.is_loss
    assert (found.better, found.worse) == (10, 10)


def test_more_confidence_is_a_wider_interval():
    before, after = [0.0] * 20, [float(number % 3) for number in range(20)]
    usual, sure = compute_difference(before, after), compute_difference(before, after, confidence=0.999)
    assert sure.low < usual.low < usual.high < sure.high


@pytest.mark.parametrize(("before", "after"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_is_not_paired_is_refused(before, after):
    with pytest.raises(ValueError, match="make no pairs"):
        compute_difference(before, after)
