"""Tasks for agents, how they are drawn, and the scores of what agents name."""

from pathlib import Path

import pytest

from coderag.errors import ConfigurationError, IngestionError
from evals.agents.__main__ import main
from evals.agents.drawing import MEASURING_ONLY, draw_tasks
from evals.agents.scoring import is_named, score_places
from evals.agents.tasks import GOLDEN_SETS, TASKS, Task, dump_tasks, find_tree, load_tasks, parse_place
from evals.golden import Target, load_golden
from evals.sources import ProjectSource

TOTAL = Target(path="cart.py", start_line=30, end_line=34)
LONG = Target(path="cart.py", start_line=100, end_line=199)
TASK = Task(
    id="shop-1",
    repository="shop",
    kind="where",
    question="Where is the total?",
    places=(TOTAL, LONG),
    also=(Target(path="money.py", start_line=1, end_line=3),),
)


def test_sixty_tasks_of_fifteen_repositories_cover_each_kind_alike():
    tasks = load_tasks().values()
    assert len(tasks) == 60
    repositories = [task.repository for task in tasks]
    assert sorted(map(repositories.count, set(repositories))) == [4] * 15
    kinds = [task.kind for task in tasks]
    assert {kinds.count(kind) for kind in kinds} == {4, 5}
    assert len(set(kinds)) == 14


def test_tasks_are_questions_of_the_golden_sets_that_may_be_used():
    for task in load_tasks().values():
        assert task.repository not in MEASURING_ONLY
        question = next(entry for entry in load_golden(GOLDEN_SETS / f"{task.repository}.jsonl").questions
                        if entry.id == task.id)  # fmt: skip
        assert (task.question, task.places, task.also) == (question.question, question.answers, question.also)


def test_the_draw_can_be_repeated_and_depends_on_the_seed(capsys):
    assert main(["draw", "--seed", "27"]) == 0
    assert capsys.readouterr().out == TASKS.read_text(encoding="utf-8")
    other = draw_tasks(GOLDEN_SETS, repositories=15, per_repository=4, seed=28)
    assert dump_tasks(other) != TASKS.read_text(encoding="utf-8")


def test_more_than_there_is_cannot_be_drawn():
    with pytest.raises(ConfigurationError, match="22 repositories to draw 23 from"):
        draw_tasks(GOLDEN_SETS, repositories=23, per_repository=4, seed=0)
    with pytest.raises(ConfigurationError, match="kinds to draw 15 from"):
        draw_tasks(GOLDEN_SETS, repositories=1, per_repository=15, seed=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "line 1: Invalid JSON"),
        ('{"id": "a", "repository": "shop", "kind": "where"}', "line 1: question: Field required"),
        (2 * '{"id": "a", "repository": "shop", "kind": "where", "question": "q"}\n', "line 2: id 'a' is already used"),
    ],
)
def test_an_invalid_task_is_reported_with_its_line(tmp_path, content, message):
    path = tmp_path / "tasks.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        load_tasks(path)


def test_a_repository_without_clone_is_reported(tmp_path):
    source = ProjectSource(repository="somebody/shop", revision="0" * 40, language="python", licence="MIT")
    with pytest.raises(IngestionError, match="no clone of somebody/shop"):
        find_tree("shop", {"shop": source}, tmp_path, tmp_path / "clones")
    with pytest.raises(ConfigurationError, match=r"no table \[shop\]"):
        find_tree("shop", {}, tmp_path)


@pytest.mark.parametrize(
    "text", ["src/cart.py", "cart.py:x", "cart.py:9-3", "cart.py:0", "/etc/passwd:1", "../a.py:1-2"]
)
def test_a_malformed_place_is_refused(text):
    with pytest.raises(ValueError, match="is not a place"):
        parse_place(text)


def test_a_place_may_be_one_line():
    assert parse_place(" ./src/cart.py:7 ") == Target(path="src/cart.py", start_line=7, end_line=7)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("cart.py:30-34", True),
        ("cart.py:32", True),
        ("cart.py:20-44", True),  # with what stands around it
        ("cart.py:1-60", False),  # most of the file
        ("cart.py:35-40", False),
        ("money.py:30-34", False),
    ],
)
def test_a_place_names_the_declaration_that_it_is_about(place, expected):
    assert is_named(TOTAL, parse_place(place)) is expected


def test_a_long_declaration_may_be_named_by_a_line_of_it_and_with_as_many_around():
    assert is_named(LONG, parse_place("cart.py:150-151"))
    assert is_named(LONG, parse_place("cart.py:60-220"))


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["cart.py:30-34", "cart.py:100-199"], {"all_places": 1, "any_place": 1, "wrong_places": 0, "precision": 1}),
        (["cart.py:30-34", "money.py:1-3"], {"all_places": 0, "any_place": 1, "wrong_places": 0, "precision": 1}),
        (["cart.py:30-34", "cart.py:60-70"], {"all_places": 0, "any_place": 1, "wrong_places": 1, "precision": 0.5}),
        ([], {"all_places": 0, "any_place": 0, "wrong_places": 0}),
    ],
)
def test_named_places_are_scored(places, expected):
    assert score_places(TASK, [parse_place(place) for place in places]) == expected


def test_where_nothing_answers_naming_nothing_is_right():
    absent = TASK.model_copy(update={"places": (), "also": ()})
    assert score_places(absent, [])["all_places"] == 1
    wrong = score_places(absent, [parse_place("cart.py:30")])
    assert (wrong["all_places"], wrong["wrong_places"]) == (0, 1)


def test_tasks_are_listed(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 60
    assert all(len(line.split("\t")) == 4 for line in lines)


def test_forms_and_scores_need_sessions(tmp_path: Path, capsys):
    for command in ("score", "forms"):
        assert main([command, str(tmp_path)]) == 1
        assert "no sessions in" in capsys.readouterr().err
