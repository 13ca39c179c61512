"""Golden declarations: each set is complete and of a project that ``sources.toml`` names."""

from pathlib import Path

import pytest

from evals.golden import load_golden
from evals.sources import load_sources

FOLDER = Path(__file__).parents[3] / "evals" / "datasets" / "declarations"
SETS = sorted(FOLDER.glob("*.jsonl"))
MEASURING_ONLY = ("faraday", "fsspec", "htop", "mdbook", "nlog", "nuke", "socket-io", "viper")
KINDS = {
    "where", "flow", "callers", "impact", "implementations", "setting", "failure", "tests", "report", "difference", "absent",
    "typos", "language", "message",
}  # fmt: skip

per_set = pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)


def test_there_are_thirty_repositories_in_at_least_ten_languages():
    sources = load_sources(FOLDER / "sources.toml")
    assert sorted(sources) == [path.stem for path in SETS]
    assert len(sources) == 30
    assert len({source.language for source in sources.values()}) >= 10
    assert len({source.repository for source in sources.values()}) == 30


def test_a_quarter_of_the_repositories_is_named_in_the_readme_as_for_measuring_only():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(MEASURING_ONLY) <= {path.stem for path in SETS}
    assert all(f"`{name}`" in readme for name in MEASURING_ONLY)


def test_there_are_at_least_400_questions_of_all_kinds():
    questions = [question for path in SETS for question in load_golden(path).questions]
    assert len(questions) == 479
    assert {question.tags[0] for question in questions} == KINDS
    assert len({question.id for question in questions}) == len(questions)


@per_set
def test_each_target_is_a_declaration_with_its_lines(path):
    for question in load_golden(path).questions:
        for target in (*question.answers, *question.also):
            assert target.path, question.id
            assert target.lines, question.id
            assert target.symbol, question.id


@per_set
def test_each_question_is_labelled_and_has_a_reference(path):
    for question in load_golden(path).questions:
        assert question.tags[0] in KINDS, question.id
        assert question.id.startswith(path.stem), question.id
        assert question.reference, question.id
        assert question.origin, question.id
        assert question.unanswerable == (question.tags[0] == "absent"), question.id


@per_set
def test_no_question_is_asked_twice(path):
    texts = [question.question.casefold().strip() for question in load_golden(path).questions]
    assert len(set(texts)) == len(texts)
