"""The gates of names, commits and prose catch what they are for, and let good code and prose pass."""

import ast
import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "style"


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


names, commits, prose = load("check_names"), load("check_commits"), load("check_prose")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def rarity(term): ...", "does not begin with a verb"),
        ("def line_of(path): ...", "ends in '_of'"),
        ("found = 1", "says nothing of what it is"),
        ("def load(one): ...", "says nothing of what it is"),
        ("MOST_RESULTS = 3", "use MAX_ or MIN_"),
        ('"""What a chunk is."""', "docstring begins with 'What'"),
    ],
)
def test_bad_name_is_reported_with_its_line(code, message):
    [violation, *_] = [v for v in names.check_file("a.py", ast.parse(code)) if message in v.message]
    assert str(violation).startswith("a.py:1: ")


@pytest.mark.parametrize(
    "code",
    [
        "def compute_idf(term): ...",
        "def is_stale(path): ...",
        "class Chunk:\n    @property\n    def text(self): ...",
        "MAX_RESULTS = 3",
        '"""Content-addressed cache of parsed files."""',
        "for path in paths: pass",
    ],
)
def test_good_name_passes(code):
    assert list(names.check_file("a.py", ast.parse(code))) == []


def test_public_class_name_is_unique():
    trees = {"a.py": ast.parse("class Answer: ..."), "b.py": ast.parse("class Answer: ...\nclass _Part: ...")}
    assert [str(v) for v in names.check_class_names(trees)] == ["b.py:1: public class Answer is also defined in a.py"]


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("Add a gate for names", ""),
        ("docs: explain the glossary", ""),
        ("Adds a gate", "begins with 'Adds'"),
        ("Add a gate.", "ends in a full stop"),
        ("Add " + "x" * 80, "84 characters"),
        ("", "begins with ''"),
    ],
)
def test_commit_subject(subject, fault):
    faults = list(commits.find_faults(subject))
    assert (fault in faults[0]) if fault else faults == []


def test_long_sentence_and_banned_word_are_reported_with_their_line():
    text = "# Title\n\nShort.\n\n" + "word " * 26 + "end.\n\nIt is dear to make.\n"
    assert [(fault.line, fault.message[:12]) for fault in prose.check_markdown("a.md", text)] == [
        (5, "sentence of "),
        (7, "'dear to mak"),
    ]


def test_code_and_tables_are_no_sentences():
    table = "| a |\n|---|\n| " + "word " * 40 + " |\n"
    assert list(prose.check_markdown("a.md", f"`{'word ' * 40}`\n\n```\n{'word ' * 40}\n```\n\n{table}")) == []
