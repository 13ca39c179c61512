"""Path globs, for any pattern."""

import re
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coderag.text.path_globs import PathGlobs

PATTERN = st.lists(st.sampled_from(["a", "b", "ab", "/", "*", "**", "**/", "?", ".", "\n"]), max_size=8).map("".join)
PATH = st.text("aab/.\n", max_size=12)


def as_a_regular_expression(pattern: str) -> str:
    """Return what a pattern means, without a thought of how long it takes."""
    pattern = pattern.removeprefix("./").strip("/")
    if pattern in ("", "."):
        return ".*"
    tokens = {"**/": r"(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(tokens.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern))
    anywhere = "" if "/" in pattern else r"(?:.*/)?"
    return rf"{anywhere}{body}(?:/.*)?"


@given(PATTERN, PATH)
@example("*a*b", "aab/ab")
@example("**a*/b*", "a/aa/ab/b")
@example("a**/b*", "a/b/ab")
def test_globs_match_like_regular_expressions(pattern: str, path: str) -> None:
    expected = re.fullmatch(as_a_regular_expression(pattern), path) is not None
    assert PathGlobs([pattern]).matches(path) is expected


@given(st.lists(PATTERN, max_size=3), PATH)
def test_several_globs_are_alternatives(patterns: list[str], path: str) -> None:
    assert PathGlobs(patterns).matches(path) is any(PathGlobs([expression]).matches(path) for expression in patterns)


def count_steps(pattern: str, path: str) -> int:
    """Return how many lines of Python a match takes; what is not Python is one pass over the path for each."""
    globs, steps = PathGlobs([pattern]), 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        globs.matches(path)
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("pattern", ["*a*a*a*b", "**a**a**a**b", "**/a*/**/a*/**/b", "*a*?a*?a*b"])
def test_matching_time_is_linear_in_the_path(pattern: str) -> None:
    path = "a" * 200 if "/" not in pattern else "a/" * 100
    assert count_steps(pattern, path * 2) <= 2 * count_steps(pattern, path) + 50


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*a*a*a*b", "**a**a**a**a**a**a**b", "**/a/**/a/**/a/**/a/**/b"])
def test_patterns_with_several_stars_avoid_backtracking(pattern: str) -> None:
    assert not PathGlobs([pattern]).matches("a/" * 500 + "a" * 1_000)  # minutes, if it were
