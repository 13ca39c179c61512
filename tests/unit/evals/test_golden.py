"""Golden sets are read as they are written, and faults are told with their line."""

import json
from pathlib import Path

import pytest

from evals.golden import GoldenSetError, Question, Target, dump_golden, load_golden

GOOD = {"id": "a", "question": "where is it", "intent": "general", "answers": [{"path": "src/a.py"}]}
DATASETS = Path(__file__).parents[3] / "evals" / "datasets"
SETS = sorted(path for path in DATASETS.rglob("*.jsonl") if path.parent.name != "items")  # those are not about code


def written(folder: Path, *lines: object, name: str = "set.jsonl") -> Path:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def test_json_lines_are_read_with_everything_in_them(tmp_path):
    line = {
        **GOOD, "intent": "find_tests", "answers": [{"path": "a.py", "start_line": 2, "end_line": 4, "symbol": "A.b"}],
        "also": [{"path": "b.py"}], "reference": "There.", "tags": ["short"], "origin": "read",
    }  # fmt: skip
    golden = load_golden(written(tmp_path, line))
    assert golden.name == "set"
    assert golden.questions == (
        Question(
            id="a",
            question="where is it",
            intent="find_tests",
            answers=(Target(path="a.py", start_line=2, end_line=4, symbol="A.b"),),
            also=(Target(path="b.py"),),
            reference="There.",
            tags=("short",),
            origin="read",
        ),
    )


def test_a_yaml_list_is_the_same_set(tmp_path):
    text = "- id: a\n  question: where is it\n  intent: general\n  answers:\n  - path: src/a.py\n"
    yaml = load_golden(written(tmp_path, text, name="set.yaml"))
    assert yaml.questions == load_golden(written(tmp_path, GOOD)).questions


def test_a_question_without_id_is_named_by_its_line(tmp_path):
    unnamed = {key: value for key, value in GOOD.items() if key != "id"}
    golden = load_golden(written(tmp_path, GOOD, "", unnamed))
    assert [question.id for question in golden.questions] == ["a", "set-3"]


def test_what_is_written_is_read_again(tmp_path):
    golden = load_golden(written(tmp_path, GOOD, {"id": "b", "question": "ü?", "unanswerable": True}))
    again = tmp_path / "again.jsonl"
    again.write_text(dump_golden(golden.questions), encoding="utf-8")
    assert load_golden(again).questions == golden.questions


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{broken", "invalid JSON"),
        ('["a"]', "expected an object with 'question' and 'answers'"),
        ({**GOOD, "intent": "find_stuff"}, "intent: Input should be 'find_definition'"),
        (
            {**GOOD, "answers": [{"path": "../a.py"}]},
            "answers.0.path: '../a.py' is not a relative path inside the repository",
        ),
        ({**GOOD, "answers": [{"path": "/a.py"}]}, "is not a relative path inside the repository"),
        ({**GOOD, "answers": [{"path": "C:\\a.py"}]}, "is not a relative path inside the repository"),
        ({**GOOD, "answers": [{"path": "a", "start_line": 3}]}, "start_line and end_line go together"),
        ({**GOOD, "answers": [{"path": "a", "start_line": 3, "end_line": 2}]}, "end_line 2 is before start_line 3"),
        ({**GOOD, "answers": [{"path": "a", "start_line": 0, "end_line": 2}]}, "start_line: Input should be greater"),
        ({**GOOD, "answers": []}, "no answers"),
        ({**GOOD, "unanswerable": True}, "an unanswerable question has neither"),
        ({**GOOD, "question": " "}, "the question is empty"),
        ({**GOOD, "answer": []}, "answer: no such key"),
        ({**GOOD, "id": "first"}, "id 'first' is already used in line 1"),
    ],
)
def test_a_fault_names_the_file_the_line_and_the_key(tmp_path, line, told):
    path = written(tmp_path, {**GOOD, "id": "first"}, line)
    with pytest.raises(GoldenSetError) as caught:
        load_golden(path)
    assert str(caught.value).startswith(f"golden set {path}, line 2: ")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [("- question: a\n- {", "line 2: invalid YAML"), ("question: a", "line 1: expected a list of questions")],
)
def test_a_fault_in_yaml_names_the_line(tmp_path, text, told):
    with pytest.raises(GoldenSetError, match=told):
        load_golden(written(tmp_path, text, name="set.yml"))


@pytest.mark.parametrize(("name", "text"), [("set.jsonl", "\n\n"), ("set.yaml", "# nothing\n"), ("set.yaml", "[]")])
def test_an_empty_set_is_refused(tmp_path, name, text):
    with pytest.raises(GoldenSetError, match="no questions"):
        load_golden(written(tmp_path, text, name=name))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(GoldenSetError, match=r"golden set .*gone\.jsonl: No such file"):
        load_golden(tmp_path / "gone.jsonl")


def test_what_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_bytes(b'{"id": "\xff"}')
    with pytest.raises(GoldenSetError, match="not UTF-8"):
        load_golden(path)


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_our_own_golden_sets_can_be_read(path):
    assert load_golden(path).questions
