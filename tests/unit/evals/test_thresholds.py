"""What a run must reach."""

import pytest

from coderag.errors import InvalidQueryError
from evals.runs import QuestionResult, Run
from evals.thresholds import Threshold, find_misses, load_thresholds, parse_threshold

RUN = Run(
    engine="coderag",
    questions=tuple(
        QuestionResult(id=str(number), question="?", intent="general", ms=10.0, metrics={"hit@5": float(number < 3)})
        for number in range(4)
    ),
)


@pytest.mark.parametrize(("value", "is_missed"), [(0.7, False), (0.75, False), (0.8, True)])
def test_a_mean_below_its_threshold_is_missed(value, is_missed):
    misses = find_misses(RUN, [Threshold("hit@5", value)])
    assert bool(misses) == is_missed
    assert not misses or str(misses[0]) == "hit@5 is 0.750, below 0.8"


@pytest.mark.parametrize(("value", "is_missed"), [(9.0, True), (10.0, False), (11.0, False)])
def test_a_time_above_its_threshold_is_missed(value, is_missed):
    assert bool(find_misses(RUN, [Threshold("ms_p90", value)])) == is_missed


def test_an_unknown_metric_is_refused_with_those_that_there_are():
    with pytest.raises(InvalidQueryError) as caught:
        find_misses(RUN, [Threshold("hits@5", 0.5)])
    assert "'hits@5'" in str(caught.value)
    assert "hit@5, ms_p50" in caught.value.hint


def test_a_threshold_is_written_with_an_equals_sign():
    assert parse_threshold("hit@5=0.85") == Threshold("hit@5", 0.85)
    for text in ("hit@5", "hit@5=much", "hit@5=", "hit@5=nan"):
        with pytest.raises(InvalidQueryError, match="is not a threshold"):
            parse_threshold(text)


def test_a_file_has_a_table_a_golden_set(tmp_path):
    path = tmp_path / "thresholds.toml"
    path.write_text('[mine]\n"hit@5" = 0.5\nms_p50 = 20\n[bad]\nmrr = "high"\n', encoding="utf-8")
    assert load_thresholds(path, "mine") == [Threshold("hit@5", 0.5), Threshold("ms_p50", 20.0)]
    with pytest.raises(InvalidQueryError, match=r"\[bad\] mrr: expected a number"):
        load_thresholds(path, "bad")
    with pytest.raises(InvalidQueryError, match=r"no table \[other\]"):
        load_thresholds(path, "other")
    with pytest.raises(InvalidQueryError, match="No such file"):
        load_thresholds(tmp_path / "gone.toml", "mine")
    path.write_text("[mine", encoding="utf-8")
    with pytest.raises(InvalidQueryError, match="invalid TOML"):
        load_thresholds(path, "mine")
