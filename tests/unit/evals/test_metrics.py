"""Each metric against values worked out by hand."""

import math

import pytest

from evals.golden import Target
from evals.metrics import (
    ContextLines,
    compute_hit,
    compute_latency,
    compute_line_coverage,
    compute_ndcg,
    compute_percentile,
    compute_precision,
    compute_recall,
    compute_reciprocal_rank,
    compute_retrieval_metrics,
    find_first_rank,
    has_target_line,
    is_declaration,
)
from evals.runs import RankedResult

A = Target(path="a.py", start_line=10, end_line=19)
B = Target(path="b.py")
C = Target(path="c.py", start_line=1, end_line=5)


def result(path: str, start_line: int = 1, end_line: int = 3) -> RankedResult:
    return RankedResult(path=path, start_line=start_line, end_line=end_line)


WRONG, AT_A, IN_B = result("x.py"), result("a.py", 19, 30), result("b.py", 200, 201)


@pytest.mark.parametrize(
    ("lines", "covered"), [((1, 9), False), ((1, 10), True), ((12, 13), True), ((19, 30), True), ((20, 30), False)]
)
def test_a_result_covers_a_place_if_they_share_a_line(lines, covered):
    assert has_target_line(result("a.py", *lines), A) == covered
    assert not has_target_line(result("other/a.py", *lines), A)


def test_any_result_in_a_file_covers_the_file():
    assert has_target_line(IN_B, B)


@pytest.mark.parametrize(
    ("lines", "is_it"),
    [
        ((10, 19), True),  # all of it
        ((12, 13), True),  # a part of it
        ((8, 21), True),  # with its decorators and the blank lines below: 10 of 14
        ((1, 19), True),  # 10 of 19
        ((1, 30), False),  # 10 of 30: a class around it
        ((19, 30), False),  # the end of it and the next one
    ],
)
def test_a_result_is_the_declaration_if_half_of_its_lines_are(lines, is_it):
    assert is_declaration(result("a.py", *lines), A) == is_it


def test_hits_look_at_the_first_k_results():
    assert compute_hit([WRONG, AT_A], [A], 1) == 0.0
    assert compute_hit([WRONG, AT_A], [A], 2) == 1.0
    assert find_first_rank([WRONG, AT_A], [C, A]) == 2
    assert find_first_rank([WRONG], [A]) is None


def test_reciprocal_rank_is_of_the_first_right_result():
    assert compute_reciprocal_rank([WRONG, WRONG, IN_B, AT_A], [A, B]) == pytest.approx(1 / 3)
    assert compute_reciprocal_rank([WRONG], [A]) == 0.0


def test_recall_is_the_share_of_the_targets():
    assert compute_recall([AT_A, WRONG, IN_B], [A, B, C], 3) == pytest.approx(2 / 3)
    assert compute_recall([AT_A, WRONG, IN_B], [A, B, C], 2) == pytest.approx(1 / 3)


def test_precision_is_of_k_places_also_where_fewer_are_filled():
    assert compute_precision([AT_A, WRONG, IN_B], [A, B], 3) == pytest.approx(2 / 3)
    assert compute_precision([AT_A], [A], 5) == pytest.approx(1 / 5)


def test_ndcg_of_two_targets_at_ranks_1_and_3():
    gained = 1 + 1 / math.log2(4)
    ideal = 1 + 1 / math.log2(3)
    assert compute_ndcg([AT_A, WRONG, IN_B], [A, B], 10) == pytest.approx(gained / ideal)
    assert compute_ndcg([AT_A, IN_B], [A, B], 10) == 1.0


def test_ndcg_counts_a_rank_once_and_stops_at_k():
    twin = Target(path="a.py", start_line=15, end_line=25)
    both = 1 + 1 / math.log2(3)
    assert compute_ndcg([AT_A], [A, twin], 10) == pytest.approx(1 / both)
    assert compute_ndcg([WRONG, WRONG, AT_A], [A], 2) == 0.0


def test_the_ideal_has_no_more_targets_than_places():
    assert compute_ndcg([AT_A], [A, B, C], 1) == 1.0


def test_coverage_counts_each_wanted_line_once():
    shown = [ContextLines("a.py", set(range(1, 15))), ContextLines("a.py", {14}), ContextLines("c.py", {5, 6})]
    assert compute_line_coverage(shown, [A, C]) == pytest.approx((5 + 1) / 15)
    assert compute_line_coverage([], [A]) == 0.0


def test_a_whole_file_has_no_lines_to_cover():
    assert compute_line_coverage([ContextLines("b.py", {1})], [B]) is None


def test_percentiles_are_interpolated():
    assert compute_percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert compute_percentile([1.0, 2.0, 3.0, 4.0, 5.0], 90) == pytest.approx(4.6)
    assert compute_percentile([7.0], 99) == 7.0
    assert compute_percentile([], 50) == 0.0
    assert compute_latency([1.0, 3.0]) == {"ms_p50": 2.0, "ms_p90": pytest.approx(2.8), "ms_p99": pytest.approx(2.98)}


def test_what_is_right_but_not_needed_never_counts_against_an_engine():
    """`also` at rank 1: the hit is there, nDCG passes it over, recall still asks for the answer."""
    found = compute_retrieval_metrics([IN_B, AT_A], answers=[A], also=[B], top_k=10)
    assert (found["hit@1"], found["mrr"], found["precision@5"]) == (1.0, 1.0, pytest.approx(2 / 5))
    assert found["ndcg@10"] == 1.0
    assert (found["recall@1"], found["recall@5"]) == (0.0, 1.0)


def test_a_wrong_result_before_the_answer_costs():
    found = compute_retrieval_metrics([WRONG, AT_A], answers=[A], also=[B], top_k=10)
    assert found["ndcg@10"] == pytest.approx(1 / math.log2(3))
    assert (found["hit@1"], found["hit@5"]) == (0.0, 1.0)
    assert (found["function_hit@5"], found["file_hit@5"]) == (0.0, 1.0)


def test_of_the_ndcg_of_files_an_answer_is_its_whole_file_and_two_in_one_are_one():
    elsewhere_in_a = result("a.py", 100, 110)
    twin = Target(path="a.py", start_line=50, end_line=60)
    found = compute_retrieval_metrics([WRONG, elsewhere_in_a, IN_B], answers=[A, twin, B], also=[], top_k=10)
    both = 1 + 1 / math.log2(3)
    assert found["file_ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / 2) / both)
    assert found["ndcg@10"] < found["file_ndcg@10"]


def test_metrics_stop_at_the_number_of_results_asked_for():
    names = compute_retrieval_metrics([AT_A], [A], [], top_k=3)
    assert {"hit@1", "hit@3", "ndcg@3", "recall@3"} <= names.keys()
    assert not {"hit@5", "hit@10", "ndcg@10"} & names.keys()
