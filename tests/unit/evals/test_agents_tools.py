"""Tools for grepping and reading: what they show, and that they show nothing outside the repository."""

import os

import pytest

from evals.agents.file_tools import FileTools
from evals.agents.toolsets import MAX_REPLY_CHARS

CART = "class Cart:\n    items = []\n\n    def total(self):\n        return sum(self.items)\n"


@pytest.fixture
def tools(tmp_path) -> FileTools:
    root = tmp_path / "shop"
    for path, text in {
        "src/cart.py": CART,
        "src/deep/money.ts": "export const TOTAL = 1\n",
        "tests/cart_test.py": "def test_total(): ...\n",
        "README.md": "# Shop\n",
        "logo.bin": "total\0",
        ".git/config": "total\n",
        ".coderag/index": "total\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (tmp_path / "secret.txt").write_text("total\n", encoding="utf-8")
    return FileTools(root)


def call(tools: FileTools, tool: str, **arguments) -> str:
    reply = tools.call(tool, arguments)
    assert not reply.is_error, reply.text
    return reply.text


def test_grep_prints_path_line_and_text_of_text_files_of_the_repository(tools):
    assert call(tools, "grep", pattern=r"\btotal\b|test_total") == (
        "src/cart.py:4:    def total(self):\ntests/cart_test.py:1:def test_total(): ..."
    )
    assert call(tools, "grep", pattern="nowhere") == "no matches"


def test_grep_shows_lines_around_matches(tools):
    assert call(tools, "grep", pattern="class|sum", context=1).splitlines() == [
        "src/cart.py:1:class Cart:",
        "src/cart.py-2-    items = []",
        "--",
        "src/cart.py-4-    def total(self):",
        "src/cart.py:5:        return sum(self.items)",
    ]


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"glob": "*.py"}, ["src/cart.py", "tests/cart_test.py"]),
        ({"glob": "src/**/*.{ts,py}"}, ["src/cart.py", "src/deep/money.ts"]),
        ({"glob": "!*_test.py"}, ["src/cart.py", "src/deep/money.ts"]),
        ({"glob": "src/*"}, ["src/cart.py"]),
        ({"path": "tests"}, ["tests/cart_test.py"]),
        ({"path": "src/cart.py"}, ["src/cart.py"]),
    ],
)
def test_grep_searches_the_files_that_are_asked_for(tools, arguments, files):
    text = call(tools, "grep", pattern="total", ignore_case=True, files_only=True, **arguments)
    assert [line.partition(":")[0] for line in text.splitlines()] == files


def test_grep_ends_at_its_limit_of_matches_and_says_so(tools):
    lines = call(tools, "grep", pattern="total", max_matches=1).splitlines()
    assert lines == ["src/cart.py:4:    def total(self):", "[more than 1 matches; narrow the search]"]


def test_read_numbers_the_lines_of_a_range(tools):
    assert call(tools, "read", path="src/cart.py", start_line=4, end_line=5).endswith(
        "4\t    def total(self):\n5\t        return sum(self.items)"
    )
    assert call(tools, "read", path="src/cart.py", end_line=1) == "1\tclass Cart:\n[src/cart.py has 5 lines]"


def test_list_counts_what_lies_deeper(tools):
    assert call(tools, "list").splitlines() == ["README.md", "logo.bin", "src/ (2 files)", "tests/ (1 files)"]
    assert call(tools, "list", path="src", depth=2).splitlines() == ["cart.py", "deep/money.ts"]
    assert call(tools, "list", glob="*.rb") == "no files"


def test_a_long_reply_is_cut_between_lines(tools, tmp_path):
    (tmp_path / "shop" / "long.txt").write_text("word " * 20_000 + "\n" + "x\n" * 20_000, encoding="utf-8")
    text = call(tools, "read", path="long.txt", start_line=2, end_line=20_000)
    assert len(text) < MAX_REPLY_CHARS + 100
    assert text.endswith("[cut at 24000 characters; narrow the call]")


@pytest.mark.parametrize("path", ["..", "../secret.txt", "/etc/passwd", ".git/config", "src/../.coderag/index"])
def test_nothing_outside_the_repository_can_be_seen(tools, path):
    for tool, arguments in (
        ("read", {"path": path}),
        ("grep", {"pattern": "total", "path": path}),
        ("list", {"path": path}),
    ):
        reply = tools.call(tool, arguments)
        assert reply.is_error
        assert "outside the repository" in reply.text


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_links_out_of_the_repository_are_not_followed(tools, tmp_path):
    (tmp_path / "shop" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "shop" / "outside").symlink_to(tmp_path)
    assert tools.call("read", {"path": "link.txt"}).is_error
    assert "secret" not in call(tools, "grep", pattern="total")
    assert "outside" not in call(tools, "list", depth=9)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("find", {}, "no tool 'find'; available: grep, read, list"),
        ("grep", {"pattern": "("}, "invalid pattern"),
        ("grep", {"patern": "x"}, "pattern: Field required; patern: no such key"),
        ("read", {"path": "nowhere.py"}, "no file or folder nowhere.py"),
        ("read", {"path": "src"}, "src is not a text file"),
        ("read", {"path": "logo.bin"}, "logo.bin is not a text file"),
        ("read", {"path": "README.md", "start_line": 9}, "README.md has 1 lines"),
        ("list", {"path": "README.md"}, "README.md is not a folder"),
    ],
)
def test_wrong_use_is_explained(tools, tool, arguments, message):
    reply = tools.call(tool, arguments)
    assert reply.is_error
    assert message in reply.text


def test_a_pattern_that_takes_too_long_is_given_up(tools, tmp_path, monkeypatch):
    monkeypatch.setattr("evals.agents.file_tools._TIMEOUT_S", 0.05)
    (tmp_path / "shop" / "hard.txt").write_text("a" * 5_000 + "b\n", encoding="utf-8")
    reply = tools.call("grep", {"pattern": "(a|aa)+$", "path": "hard.txt"})
    assert reply.is_error
    assert "no result within" in reply.text
