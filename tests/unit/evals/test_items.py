"""Golden questions about pages and tickets, and their measurement on a small tree."""

import json
import subprocess
from collections import Counter

import pytest

from evals.items import questions as golden
from evals.items.__main__ import main
from evals.items.questions import load_questions, load_trees

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]


def test_golden_questions_are_many_unique_and_in_two_halves():
    loaded = load_questions()
    assert len(loaded) >= 60
    assert len({question.question for question in loaded}) == len(loaded)
    assert len(set(Counter(question.split for question in loaded).values())) == 1
    kinds = {tree.name: tree.kind for tree in load_trees()}
    assert all(kinds[question.collection] == question.intent for question in loaded)
    assert all(question.items for question in loaded)


def test_line_that_is_no_question_is_an_error_with_its_number(tmp_path):
    (tmp_path / "questions.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(golden.EvaluationError, match=r"questions\.jsonl, line 1: not a question"):
        load_questions(tmp_path / "questions.jsonl")


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Write a tree of two documents and a question about one."""
    clone = tmp_path / "clones" / "handbook"
    (clone / "docs").mkdir(parents=True)
    (clone / "docs/a.md").write_text("# Kettle\n\nDescale it with vinegar.\n")
    (clone / "docs/b.md").write_text("# Printer\n\nPaper jams in the upper tray.\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Add documents"]):
        subprocess.run([*GIT, "-C", str(clone), *command], check=True)
    head = subprocess.run([*GIT, "-C", str(clone), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    tree = golden.DocumentTree("handbook", "example/handbook", head.stdout.strip(), "documentation", ["docs/*.md"])
    question = golden.ItemQuestion(
        "a", "handbook", "documentation", "how do I descale the kettle", ["docs/a.md"], "tuning"
    )
    monkeypatch.setattr("evals.items.__main__.load_questions", lambda: [question])
    monkeypatch.setattr("evals.items.__main__.load_trees", lambda: [tree])
    return clone.parent


def test_measurement_finds_the_right_page(small, capsys):
    assert main(["--repositories", str(small), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["items"] == 2
    assert report["own tree"]["all"]["first 5"][0] == 1.0


def test_missing_clone_is_an_error_with_the_name_to_give_it(small, capsys):
    assert main(["--repositories", str(small / "handbook")]) == 1
    assert "has no clone of example/handbook: name it handbook" in capsys.readouterr().err
