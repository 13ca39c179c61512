"""``coderag search --exact`` and ``--regex``."""

import json

import pytest

from coderag.interfaces.cli.output.hits import print_hits
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.output.text_matches import _cut_line, _MatchLine
from coderag.schema.search import Filters
from tests.interfaces.fake_app import make_hit

PLAIN = """\
src/auth/session.py:10:5: def login(user: str, password: str) -> Session:  [function auth.session.login]
src/web/views.py:30:14:     return x(login(
src/web/views.py:31: u))
"""


def test_each_match_is_a_line_with_its_place_and_declaration(coderag) -> None:
    result = coderag("search", "--exact", "login(")
    assert result.stdout == PLAIN
    assert result.stderr == "1,234 matches in 2 files; the first 2 are shown (-n for more)\n"
    assert coderag.calls == [("search_text", ("login(", False, False, 0, 200, None))]


def test_options_are_handed_on(coderag) -> None:
    coderag("search", "--regex", "log.n", "-i", "--context-lines", "2", "-n", "7", "--path", "src")
    assert coderag.calls == [("search_text", ("log.n", True, True, 2, 7, Filters(paths=("src",))))]


def test_lines_around_a_match_are_told_apart(coderag) -> None:
    lines = coderag("search", "--exact", "login", "--context-lines", "2").stdout.split("\n")
    assert lines[:2] == ["src/auth/session.py-8-", "src/auth/session.py-9- # Sessions"]


def test_several_lines_are_read_from_standard_input_with_their_indentation(coderag) -> None:
    coderag("search", "--exact", "-", stdin="\n    if a:\n        b()  \n\n")
    assert coderag.calls[0][1][0] == "    if a:\n        b()  "


def test_only_files_or_their_numbers(coderag) -> None:
    files = coderag("search", "--exact", "login", "--files")
    assert files.stdout == "src/auth/session.py\nsrc/web/views.py\n"
    assert files.stderr == "1,234 matches in 2 files\n"  # all are counted, however many would be shown
    assert coderag("search", "--exact", "login", "--count").stdout == "src/auth/session.py:1\nsrc/web/views.py:1233\n"


def test_json_has_all_that_is_known(coderag) -> None:
    result = json.loads(coderag("search", "--regex", "log.n", "--json").stdout)
    assert (result["query"], result["mode"], result["total"], result["complete"]) == ("log.n", "regex", 1234, True)
    assert result["files"] == {"src/auth/session.py": 1, "src/web/views.py": 1233}
    first = result["matches"][0]
    assert (first["path"], first["start_line"], first["symbol"]) == ("src/auth/session.py", 10, "auth.session.login")


def test_what_should_be_known_of_the_matches_is_said(coderag) -> None:
    said = coderag("search", "--exact", "login", behaviour="stale").stderr
    assert "at least 1,234 matches" in said
    assert "differ in white space" in said
    assert "1 file has changed since the last 'coderag index'" in said
    assert "1 indexed file could not be read, such as src/gone.py: no such file or directory" in said


def test_nothing_found_is_said_and_no_failure(coderag) -> None:
    result = coderag("search", "--exact", "login", behaviour="nothing")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing found\n")


def test_a_long_line_is_cut_around_its_match_and_cannot_command_the_terminal(coderag) -> None:
    line = coderag("search", "--exact", "match", behaviour="hostile").stdout
    assert "...xxx" in line
    assert "\\x1b[2Jmatchyyy" in line
    assert "y..." in line
    assert "\x1b" not in line
    assert len(line) < 400


@pytest.mark.parametrize("start", [1, 8, 30, 70])
@pytest.mark.parametrize("width", [20, 60, 80, 240])
def test_a_line_is_cut_around_its_match_at_any_width(start, width) -> None:
    line = _MatchLine(1, "x" * start + "match" + "y" * 300, [(start, start + 5)], None)
    text, ranges = _cut_line(line, width)
    assert [text[low:high] for low, high in ranges] == ["match"]
    assert len(text) <= width + 2 * len("...")


@pytest.mark.parametrize(
    "arguments",
    [("--exact", "--regex", "x"), ("x", "-i"), ("x", "--count"), ("x", "--files"), ("x", "--context-lines", "1")],
)
def test_options_that_mean_nothing_together_are_wrong_usage(coderag, arguments) -> None:
    result = coderag("search", *arguments)
    assert result.exit_code == 2
    assert "--exact" in result.stderr


def test_a_result_says_where_else_the_same_code_is(capsys, tmp_path) -> None:
    print_hits([make_hit(duplicates=[f"vendor/{number}/a.py:1-9" for number in range(7)])], tmp_path, 1, Output())
    places = ", ".join(f"vendor/{number}/a.py:1-9" for number in range(5))
    assert f"\n    also at {places} and 2 more\n" in capsys.readouterr().out
