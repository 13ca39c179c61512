from itertools import pairwise

import pytest

from coderag.question.analysis import analyze
from coderag.retrieval.context.relevance import PROFILES, estimate_relevance, get_breadth


@pytest.mark.parametrize("breadth", PROFILES)
def test_relevance_is_a_probability_that_falls_with_rank_and_score(breadth):
    relevance = estimate_relevance([0.9, 0.6, 0.6, 0.2, 0.0], breadth)
    assert all(0 < probability < 1 for probability in relevance)
    assert all(earlier > later for earlier, later in pairwise(relevance))


def test_later_candidates_count_less_after_a_certain_one():
    after_certain, after_unsure = (estimate_relevance([top, 0.3, 0.3], "narrow")[1:] for top in (0.97, 0.4))
    assert sum(after_certain) < 0.6 * sum(after_unsure)


def test_resolved_list_is_needed_whole_and_leaves_little_else():
    relevance = estimate_relevance([3.8, 3.5, 3.1, 0.6, 0.5], "broad")
    assert len(set(relevance[:3])) == 1
    assert relevance[0] > 0.8
    assert relevance[3] < estimate_relevance([0.9, 0.8, 0.7, 0.6, 0.5], "broad")[3]


def test_scores_above_one_are_as_good_as_certain():
    assert estimate_relevance([1.9], "narrow") == estimate_relevance([0.99], "narrow")


def test_no_candidates_have_no_relevance():
    assert estimate_relevance([], "report") == []


@pytest.mark.parametrize(
    ("question", "breadth"),
    [
        ("where are passwords hashed", "narrow"),
        ("who calls load_settings", "broad"),
        ('Title\n\nTraceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: x', "report"),
    ],
)
def test_breadth_follows_the_question(question, breadth):
    assert get_breadth(analyze(question)) == breadth
