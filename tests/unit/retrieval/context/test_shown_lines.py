import pytest

from coderag.errors import InvalidQueryError
from coderag.retrieval.context.elision import WeightedLine
from coderag.retrieval.context.shown_lines import MAX_SHOWN_KEYS, ShownLines, build_shown_keys, merge_keys


def lines(first, *texts):
    return [WeightedLine(number, text) for number, text in enumerate(texts, first)]


BODY = lines(10, "def f():", "    a", "    b", "    c", "    return d")


def test_shown_lines_are_recognized():
    assert ShownLines(build_shown_keys("a.py", BODY)).find_shown("a.py", BODY) == {10, 11, 12, 13, 14}


def test_edited_code_is_new():
    edited = [*BODY[:-1], WeightedLine(14, "    return e")]
    assert not ShownLines(build_shown_keys("a.py", BODY)).find_shown("a.py", edited)


def test_moved_code_is_recognized_within_its_file_only():
    moved = lines(40, *(line.text for line in BODY))
    shown_lines = ShownLines(build_shown_keys("a.py", BODY))
    assert shown_lines.find_shown("a.py", moved) == {40, 41, 42, 43, 44}
    assert not shown_lines.find_shown("b.py", BODY)


def test_omitted_lines_of_an_elided_body_are_new():
    complete = lines(1, *(f"line {number}" for number in range(1, 21)))
    assert ShownLines(build_shown_keys("a.py", [*complete[:8], *complete[15:]])).find_shown("a.py", complete) == {
        *range(1, 9),
        *range(16, 21),
    }


def test_short_runs_of_an_elided_body_are_shown_again():
    complete = lines(1, *(f"line {number}" for number in range(1, 21)))
    assert build_shown_keys("a.py", [*complete[:2], complete[10], *complete[19:]]) == []


def test_paths_may_contain_any_character():
    path = "odd:1-2#name\n.py"
    assert len(ShownLines(build_shown_keys(path, BODY)).find_shown(path, BODY)) == 5


@pytest.mark.parametrize("key", ["", "a.py", "a.py:1-2", "a.py:0-2#0123456789abcdef", "a.py:1-2#xyz"])
def test_invalid_key_is_rejected(key):
    with pytest.raises(InvalidQueryError, match="shown"):
        ShownLines([key])


def test_keys_are_bounded_and_the_oldest_dropped():
    keys_kept = merge_keys(
        [f"a.py:{number}-{number}#{'0' * 16}" for number in range(1, MAX_SHOWN_KEYS + 1)], ["new", "new"]
    )
    assert len(keys_kept) == MAX_SHOWN_KEYS
    assert keys_kept[-1] == "new"
    assert not keys_kept[0].startswith("a.py:1-")
