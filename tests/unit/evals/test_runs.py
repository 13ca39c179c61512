"""Runs are kept and read again, and add up by groups."""

import pytest

from evals.golden import Target
from evals.runs import QuestionResult, RankedResult, Run, RunFileError, StaleAnswer, load_run


def asked(name: str, value: float, **more: object) -> QuestionResult:
    return QuestionResult.model_validate(
        {"id": name, "question": f"{name}?", "intent": "general", "metrics": {"hit@5": value}, **more}
    )


def run_of(*questions: QuestionResult, **more: object) -> Run:
    return Run.model_validate({"engine": "coderag", "questions": questions, **more})


def test_a_run_is_read_as_it_was_kept(tmp_path):
    target = Target(path="a.py", start_line=1, end_line=2, symbol="f")
    result = RankedResult(
        path="a.py", start_line=1, end_line=9, name="f", score=0.5, channels={"dense": 1.0}, answers=(0,)
    )
    question = asked("a", 1.0, answers=(target,), results=(result,), evidence="weak", ms=1.5, tags=("x",))
    run = run_of(
        question,
        settings={"search.fusion": "rrf", "search.disabled_signals": ("dense",), "search.top_k": 10, "llm": None},
        stale=(StaleAnswer(question="b", target=target, reason="gone"),),
        skipped=("b",),
    )
    path = tmp_path / "run.json"
    path.write_text(run.to_json(), encoding="utf-8")
    assert load_run(path) == run


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "Invalid JSON"),
        ('{"engine": "x"}', "questions: Field required"),
        ('{"format": 2, "engine": "x"}', "format"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path, text, told):
    path = tmp_path / "run.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunFileError, match=told):
        load_run(path)
    with pytest.raises(RunFileError, match="No such file"):
        load_run(tmp_path / "gone.json")


def test_means_are_over_the_questions_that_have_the_metric():
    run = run_of(asked("a", 1.0), asked("b", 0.0), asked("c", 0.5, metrics={"mrr": 0.5}))
    overall = run.compute_overall()
    assert (overall["hit@5"].mean, overall["hit@5"].n) == (0.5, 2)
    assert (overall["mrr"].mean, overall["mrr"].n) == (0.5, 1)
    assert run.metric_names == ["hit@5", "mrr"]
    assert run.get_values("hit@5", lambda question: question.id == "a") == [1.0]


def test_groups_are_by_intent_language_and_each_tag():
    run = run_of(
        asked("a", 1.0, intent="find_tests", language="go", tags=("hard", "short")),
        asked("b", 0.0, language="go", tags=("hard",)),
        asked("c", 0.0, unanswerable=True),
    )
    assert {name: means["hit@5"].mean for name, means in run.compute_by_group("intent").items()} == {
        "find_tests": 1,
        "general": 0,
    }
    assert {name: means["hit@5"].n for name, means in run.compute_by_group("language").items()} == {"go": 2}
    assert {name: means["hit@5"].mean for name, means in run.compute_by_group("tag").items()} == {
        "hard": 0.5,
        "short": 1,
    }


def test_calibration_counts_verdicts_of_answerable_and_unanswerable_questions():
    run = run_of(
        asked("a", 1, evidence="found"),
        asked("b", 1, evidence="found", unanswerable=True),
        asked("c", 1, evidence="not_found", unanswerable=True),
        asked("d", 1),
    )
    verdicts = run.count_verdicts()
    assert (verdicts["found"], verdicts["weak"], verdicts["not_found"]) == ((1, 1), (0, 0), (0, 1))


def test_runs_over_several_repositories_join():
    joined = Run.join([run_of(asked("a", 1, repository="x")), run_of(asked("a", 0, repository="y"))], "both")
    assert joined.compute_overall()["hit@5"].mean == 0.5
    assert list(joined.compute_by_group("repository")) == ["x", "y"]
