import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from coderag.retrieval.text_search.required_literals import find_required_literals, matches_within_lines


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("merge_setting", ["merge_setting"]),
        (r"def \w+_error", ["_error"]),
        (r"\w+Handler\b", ["Handler"]),
        ("TODO|FIXME", ["TODO", "FIXME"]),
        (r"(?:get|put)_item\(", ["_item("]),
        ("colou?r", ["colo"]),
        ("ab*c", ["a"]),
        ("ab+c", ["ab"]),
        ("ab{0,3}cd", ["cd"]),
        ("ab{2}c", ["a"]),
        (r"fn [a-z_]+\(self", ["(self"]),
        (r"a\.b\(c", ["a.b(c"]),
        ("[]x]yz", ["yz"]),
        (r"^import$", ["import"]),
    ],
)
def test_longest_literal_of_each_alternative_is_required(pattern, expected):
    assert find_required_literals(pattern) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"\w+", "a|", "foo|[ab]", "(?i)foo", "(?x) f o o", r"\x41bc", r"\N{DIGIT ONE}x", "(?:foo){e<=1}",
        "[[:alpha:]]foo", "(?#note)x",
    ],
)  # fmt: skip
def test_uncertain_pattern_requires_nothing(pattern):
    assert find_required_literals(pattern) == []


PIECES = st.sampled_from(
    [
        "a", "b", "ab", "(", ")", "|", "*", "+", "?", "{2}", "{0,1}", "[ab]", "[^a]", r"\w", r"\.", ".", "(?:", "^", "$",
        r"\s", "[", "]", "(?i)", "(?=", r"\b", "{", "}", "_", "\\",
    ]
)  # fmt: skip
TEXTS = st.text("abAB._{} \n", max_size=12)


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join), TEXTS)
def test_every_match_contains_a_required_literal(pattern, text):
    try:
        matches = list(regex.finditer(pattern, text, regex.MULTILINE, timeout=5))
    except (regex.error, TimeoutError):
        return
    literals = find_required_literals(pattern)
    for match in matches:
        assert not literals or any(literal in match[0] for literal in literals)
    if matches_within_lines(pattern):
        assert not any("\n" in match[0] for match in matches)
        assert {text.count("\n", 0, match.start()) for match in matches} == {
            number for number, line in enumerate(text.split("\n")) if regex.search(pattern, line, regex.MULTILINE)
        }
