"""Declarations without a known use, over small repositories in memory."""

import pytest

from coderag.errors import InvalidQueryError
from coderag.retrieval.mentions.unused import UnusedSearch
from coderag.schema.mentions import UnusedReport
from tests.support.corpora import make_context

FILES = {
    "src/app.py": (
        "from framework import route, Base\n\n\n"
        "def main():\n    helper()\n\n\n"
        "def helper():\n    return 1\n\n\n"
        "def forgotten():\n    return forgotten()\n\n\n"
        "@route('/x')\ndef page():\n    return 2\n\n\n"
        "def only_tested():\n    return 3\n\n\n"
        "def named_in_text():\n    return 4\n\n\n"
        "def described():\n    return 5\n\n\n"
        "def passed_on():\n    return 6\n\n\n"
        "class Plugin(Base):\n    def start(self):\n        return 7\n\n    def __len__(self):\n        return 0\n\n\n"
        "def visit_leaf():\n    return 8\n\n\n"
        "def json_dump():\n    return 9\n\n\n"
        "def dump(kind):\n    return globals()[f'{kind}_dump']()\n\n\n"
        "def walk(node):\n    return getattr(node, f'visit_{node}')()\n\n\n"
        "table = {'a': passed_on, 'b': getattr(app, 'named_in_text'), 'c': walk, 'd': Plugin, 'e': dump}\n"
    ),
    "src/lib.ts": "export function offered() { return 1 }\nfunction hidden() { return 2 }\n",
    "src/poll.c": (
        "#define POLLED(name) int (*name##_entry)(void) = name##_poll\n"
        "static int pump_poll(void) { return 1; }\nPOLLED(pump);\n"
    ),
    "tests/test_app.py": "from src.app import only_tested\n\n\ndef test_it():\n    assert only_tested() == 3\n",
    "README.md": "# App\n\n`described` does it.\n",
}


def find(files: dict[str, str], path: str = "", limit: int = 50) -> UnusedReport:
    context = make_context(files)
    return UnusedSearch(context.graph, context.corpus.snapshot).find(path, limit=limit)


@pytest.fixture(scope="module")
def report() -> UnusedReport:
    return find(FILES)


@pytest.mark.parametrize(
    ("name", "certainty", "reason"),
    [
        ("forgotten", "likely", "no other line mentions it"),
        ("hidden", "likely", "no other line mentions it"),
        ("only_tested", "possible", "only tests use it"),
        ("named_in_text", "possible", "strings name it (1 line), so code may reach it by its name"),
        ("described", "possible", "only comments or documents mention it (1 line)"),
        ("offered", "possible", "it is exported: code outside the repository may use it"),
        ("json_dump", "possible", "code that completes `_dump` may reach it"),
        ("pump_poll", "possible", "code that completes `_poll` may reach it"),
        ("visit_leaf", "possible", "code that completes `visit_` may reach it"),
    ],
)
def test_candidates_have_their_reason(report: UnusedReport, name: str, certainty: str, reason: str) -> None:
    candidate = next(result for result in report.results if result.qualified_name == name)
    assert candidate.certainty == certainty
    assert reason in candidate.reasons


@pytest.mark.parametrize(
    "name", ["main", "helper", "page", "passed_on", "walk", "Plugin", "Plugin.start", "Plugin.__len__"]
)
def test_what_is_used_or_reached_is_no_candidate(report: UnusedReport, name: str) -> None:
    assert name not in {result.qualified_name for result in report.results}


def test_what_is_reached_without_a_use_is_counted_by_reason(report: UnusedReport) -> None:
    assert report.excluded["an entry point"] == 1
    assert report.excluded["registered by a decorator or annotation"] == 1
    assert report.excluded["may override a method of a base outside the repository"] == 1


def test_the_most_certain_come_first_and_a_cut_list_counts_all(report: UnusedReport) -> None:
    certainties = [result.certainty for result in report.results]
    assert certainties == sorted(certainties)
    cut = find(FILES, limit=1)
    assert (len(cut.results), cut.total) == (1, report.total)


def test_a_path_limits_what_is_examined_but_not_what_uses_it() -> None:
    names = {result.qualified_name for result in find(FILES, "src/lib.ts").results}
    assert names == {"offered", "hidden"}
    with pytest.raises(InvalidQueryError, match="no indexed file is at nowhere"):
        find(FILES, "nowhere")


def test_a_language_of_the_simple_tier_counts_every_line_that_mentions_a_name() -> None:
    files = {
        "a.lua": "local M = {}\nfunction M.kept() end\nfunction M.dead() end\nreturn M\n",
        "b.lua": "local m = require('a')\nhandlers.x = m.kept\n",
    }
    assert [result.qualified_name for result in find(files).results] == ["M.dead"]


def test_a_field_with_a_trailing_underscore_completes_no_name() -> None:
    files = {
        "a.cpp": "struct Box { int size_; };\nint grow(Box& b) { return b.size_; }\nint size_limit() { return 1; }\n"
    }
    candidate = next(result for result in find(files).results if result.qualified_name == "size_limit")
    assert candidate.certainty == "likely"


def test_a_name_that_very_many_lines_mention_is_no_candidate() -> None:
    files = {"a.lua": "function common() end\n", "notes.md": "- common\n" * 200}
    assert find(files).excluded == {"mentioned by name, without a resolved use": 1}
