"""Measurement of answers to questions about history."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from coderag.app import CodeRAG
from coderag.schema.answers import Answer
from evals.history.__main__ import main
from evals.history.measure import HistoryOutcome, is_right, summarize_outcomes
from evals.history.questions import HistoryQuestion, load_questions
from tests.support.traced_shop import TracedShop

RIGHT, WRONG = "a1" * 20, "b2" * 20
QUESTION = HistoryQuestion(
    "shop-01", "team/shop", "", "why?", "why", [RIGHT], ["Ann"], ["shop/cart.py"], ["Cart"], "", False, False, []
)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "cart.py").write_text("class Cart:\n    pass\n")
    rag = CodeRAG(folder)
    rag.index()
    return rag.ask("where is Cart defined?")


@pytest.mark.parametrize(
    ("changes", "text", "expected"),
    [
        ({}, f"It was changed in `{RIGHT[:12]}`, after `{WRONG[:12]}`.", True),
        ({}, f"It was changed in `{WRONG[:12]}`, after `{RIGHT[:12]}`.", False),
        ({}, "It was changed.", False),
        ({"kind": "who"}, "**Ann**: wrote it.", True),
        ({"kind": "who"}, "**Bob**: wrote it.\n\nAnn is mentioned further down.", False),
        ({"kind": "since", "commits": [RIGHT, WRONG]}, f"Only `{RIGHT[:12]}`.", False),
        ({"kind": "since", "commits": [RIGHT, WRONG]}, f"`{RIGHT[:12]}`\n\n- `{WRONG[:12]}`", True),
        ({"kind": "together", "commits": []}, "`cart.py` most often changes along.", True),
        ({"kind": "together", "commits": []}, "`page.py` most often changes along.", False),
        ({"unanswerable": True, "commits": []}, "The history has no commit about this that answers.", True),
        ({"unanswerable": True, "commits": []}, f"It was changed in `{RIGHT[:12]}`.", False),
    ],
)
def test_answer_is_right_if_it_states_what_is_expected(answer, changes, text, expected):
    assert is_right(replace(QUESTION, **changes), replace(answer, text=text)) is expected


def test_summary_counts_by_kind_and_half():
    held = replace(QUESTION, kind="who", held_out=True)
    report = summarize_outcomes([HistoryOutcome(QUESTION, True, "", 1), HistoryOutcome(held, False, "Bob", 3)])
    rows = report["questions"]
    assert {name: (row["right"], row["questions"]) for name, row in rows.items()} == {
        "who": (0, 1),
        "why": (1, 1),
        "dev": (1, 1),
        "held": (0, 1),
        "all": (1, 2),
    }
    assert rows["all"]["interval"] == [0.095, 0.905]  # Wilson, 1 of 2
    assert [wrong["lead"] for wrong in report["wrong"]] == ["Bob"]


def test_questions_are_complete():
    questions = load_questions()
    assert len({question.id for question in questions}) == len(questions) == 56
    assert sum(question.held_out for question in questions) == 28
    assert all(question.unanswerable or question.commits or question.paths for question in questions)


def test_command_measures_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = TracedShop(tmp_path / "shop")
    question = replace(
        QUESTION,
        revision=shop.commits["cents"],
        question="when was `choose_proxy` introduced?",
        commits=[shop.commits["proxy"]],
    )
    monkeypatch.setattr("evals.history.__main__.load_questions", lambda: [question])
    assert main([str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"]["all"]["right"] == 1
    shop.folder.git("checkout", "-q", "HEAD~1")
    assert main([str(tmp_path)]) == 1
    assert f"check out {shop.commits['cents']}" in capsys.readouterr().err


def test_command_without_clones_explains_itself(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "folder with a clone of each repository" in shown
    assert "psf/requests 1f6589ec3a1ee910f9a65cc3ceac60b26677bc0e" in shown


def test_missing_clone_is_an_error_with_the_address(tmp_path, capsys):
    assert main([str(tmp_path)]) == 1
    assert "clone https://github.com/psf/requests" in capsys.readouterr().err
