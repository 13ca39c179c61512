import shlex

import pytest

from coderag.errors import InvalidQueryError
from coderag.question.places import format_fetch_command, parse_location, parse_location_paths


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("src/a.py:10-42", ("src/a.py", 10, 42)),
        ("a.py:7", ("a.py", 7, 7)),
        ("odd:name.py:1-2", ("odd:name.py", 1, 2)),
    ],
)
def test_a_place_is_a_path_and_its_lines(text, place):
    assert parse_location(text) == place


def test_one_text_is_not_taken_for_many_places():
    assert parse_location_paths(["a.py:1", "b.py"]) == ["a.py", "b.py"]
    with pytest.raises(InvalidQueryError, match="must be a list"):
        parse_location_paths("a.py")


def test_a_path_alone_is_the_whole_file():
    path, start, end = parse_location("src/a.py")
    assert (path, start) == ("src/a.py", 1)
    assert end > 1_000_000


@pytest.mark.parametrize("text", ["", "  ", "a.py:0", "a.py:9-3"])
def test_what_is_no_place_is_refused(text):
    with pytest.raises(InvalidQueryError):
        parse_location(text)


@pytest.mark.parametrize("path", ["src/a.py", "with space/a'b.py", "$(rm -rf x).py", "a:3.py"])
def test_the_call_that_fetches_a_place_survives_the_shell(path):
    assert parse_location(shlex.split(format_fetch_command(path, 3, 9))[-1]) == (path, 3, 9)
