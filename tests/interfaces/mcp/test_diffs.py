"""Changed lines of a file: the same as a reader would mark, in a time that grows with its length."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.interfaces.mcp.diffs import _find_changed_ranges

LINES = [f"line {number}" for number in range(30)]


@pytest.mark.parametrize(
    ("old", "new", "ranges"),
    [
        (LINES, LINES, []),
        (LINES, [*LINES[:4], "new", *LINES[5:]], [(5, 5)]),
        (LINES, [*LINES[:4], "new", *LINES[4:]], [(5, 5)]),
        (LINES, [*LINES[:4], *LINES[6:]], [(4, 4)]),
        (LINES, LINES[2:], [(1, 1)]),
        ([], ["a", "b"], [(1, 2)]),
        (["a"] * 9, ["a"] * 8, [(8, 8)]),
        (["{", "a", "}", "{", "b", "}"], ["{", "a", "}", "{", "c", "}"], [(5, 5)]),
    ],
)
def test_changed_ranges(old, new, ranges):
    assert list(_find_changed_ranges(old, new)) == ranges


@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef")))
def test_lines_outside_the_ranges_stand_in_the_old_text_in_this_order(old, new):
    changed = {number for first, last in _find_changed_ranges(old, new) for number in range(first, last + 1)}
    rest = iter(old)
    assert all(line in rest for number, line in enumerate(new, 1) if number not in changed)


@pytest.mark.parametrize("distinct", [1, 50, 100, 10_000])
def test_repeated_lines_in_another_order_take_no_time(distinct):
    old = [f"x{number % distinct}" for number in range(100_000)]
    new = old[::-1]
    random.Random(1).shuffle(new)
    start = time.perf_counter()
    list(_find_changed_ranges(old, new))
    assert time.perf_counter() - start < 5
