"""A planted regression is found and named; no change is none."""

import pytest

from coderag.errors import InvalidQueryError
from evals.comparison import compare
from evals.golden import Target
from evals.report_markdown import render
from evals.runs import QuestionResult, RankedResult, Run
from evals.tables import build_comparison_tables, describe_signal_changes

ANSWER = Target(path="a.py", start_line=1, end_line=9)


def question(number: int, rank: int, *, intent: str = "general", channels: tuple[str, ...] = ("lexical", "dense")):
    """A question whose right result has a rank; 0 for none."""
    wrong = RankedResult(path="x.py", start_line=1, end_line=2, channels=dict.fromkeys(channels, 0.5))
    right = wrong.model_copy(update={"path": "a.py"})
    ndcg = 1 / rank if rank else 0.0
    return QuestionResult.model_validate(
        {
            "id": f"q{number}",
            "question": f"question {number}",
            "intent": intent,
            "answers": [ANSWER],
            "results": [right if place == rank else wrong for place in range(1, 6)],
            "metrics": {"hit@1": float(rank == 1), "ndcg@10": ndcg},
            "ms": 10.0,
        }
    )


def run_of(questions, **settings: object) -> Run:
    return Run.model_validate({"engine": "coderag", "golden": "set", "questions": questions, "settings": settings})


BEFORE = run_of([question(number, 1) for number in range(20)], **{"search.disabled_signals": ()})


def test_equal_runs_are_no_regression():
    comparison = compare(BEFORE, BEFORE)
    assert not comparison.is_regression
    assert (comparison.shared, comparison.worse, comparison.better, comparison.settings) == (20, [], [], {})
    assert "no regression" in render(BEFORE, BEFORE)


def test_of_different_engines_only_settings_that_both_have_are_compared():
    before = run_of(BEFORE.questions, **{"search.rrf_k": 60, "terms": "words"})
    after = run_of(BEFORE.questions, terms="stems").model_copy(update={"engine": "bm25"})
    assert compare(before, after).settings == {"engine": ("coderag", "bm25"), "terms": ("words", "stems")}


def test_a_channel_that_was_switched_off_is_found_and_named():
    questions = [question(number, 1 if number % 3 else 4, channels=("lexical",)) for number in range(20)]
    after = run_of(questions, **{"search.disabled_signals": ("dense",)})
    comparison = compare(BEFORE, after)
    assert comparison.is_regression
    assert {change.metric for change in comparison.regressions} == {"hit@1", "ndcg@10"}
    assert comparison.settings == {"search.disabled_signals": ((), ("dense",))}
    assert describe_signal_changes(comparison) == ["channel dense is gone: before, 100% of the results had it"]
    assert [moved.question.id for moved in comparison.worse] == ["q0", "q12", "q15", "q18", "q3", "q6", "q9"]
    assert (comparison.worse[0].rank_before, comparison.worse[0].rank_after) == (1, 4)
    report = render(after, BEFORE)
    assert ": worse" in report
    assert "| search.disabled\\_signals | none | dense |" in report


def test_a_channel_that_is_gone_makes_a_small_loss_a_regression():
    """One question of twenty may be chance; with a channel silent it is not."""
    lost = [question(number, 1 if number else 0) for number in range(20)]
    assert not compare(BEFORE, run_of(lost)).is_regression
    silent = [question(number, 1 if number else 0, channels=("lexical",)) for number in range(20)]
    comparison = compare(BEFORE, run_of(silent))
    assert comparison.is_regression
    assert comparison.regressions == []


def test_a_channel_that_is_gone_without_loss_is_told_and_is_no_regression():
    comparison = compare(BEFORE, run_of([question(number, 1, channels=("lexical",)) for number in range(20)]))
    assert [one.name for one in comparison.vanished] == ["dense"]
    assert not comparison.is_regression


def test_an_engine_without_channels_is_not_said_to_have_lost_them():
    other = run_of([question(number, 1, channels=()) for number in range(20)])
    assert compare(BEFORE, other).vanished == []


def test_a_loss_in_one_intent_is_named():
    intents = ["find_usage" if number < 10 else "general" for number in range(60)]
    before = run_of([question(number, 1, intent=intent) for number, intent in enumerate(intents)])
    after = run_of([question(number, 3 if number < 4 else 1, intent=intent) for number, intent in enumerate(intents)])
    comparison = compare(before, after)
    named = {(change.where, change.metric) for change in comparison.regressions if change.by}
    assert ("intent find_usage", "ndcg@10") in named
    assert not any(where == "intent general" for where, _ in named)
    tables = {table.title: table for table in build_comparison_tables(comparison)}
    assert any(row[0] == "intent find_usage: ndcg@10" for row in tables["Surely changed"].rows)


def test_what_got_better_is_no_regression():
    comparison = compare(run_of([question(number, 2) for number in range(20)]), BEFORE)
    assert not comparison.is_regression
    assert len(comparison.better) == 20


def test_only_questions_of_both_runs_are_compared():
    after = run_of([*BEFORE.questions[:15], question(99, 1)])
    comparison = compare(BEFORE, after)
    assert comparison.shared == 15
    assert comparison.only_before == ["q15", "q16", "q17", "q18", "q19"]
    assert comparison.only_after == ["q99"]


def test_other_labels_are_told():
    changed = BEFORE.questions[0].model_copy(update={"answers": (Target(path="b.py"),)})
    assert compare(BEFORE, run_of([changed, *BEFORE.questions[1:]])).relabelled == ["q0"]


def test_runs_without_a_common_question_are_refused():
    with pytest.raises(InvalidQueryError, match="no question in common"):
        compare(BEFORE, run_of([question(99, 1)]))


def test_questions_in_a_report_cannot_break_its_tables():
    nasty = question(0, 4).model_copy(update={"question": "a | b\n<script> `x` *y*"})
    report = render(run_of([nasty, *BEFORE.questions[1:]]), BEFORE)
    assert "a \\| b \\<script\\> \\`x\\` \\*y\\*" in report
