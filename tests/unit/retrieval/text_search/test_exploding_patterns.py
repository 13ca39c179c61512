"""Patterns that explode: each ends within the time limit, with matches or an error that says why."""

import time

import pytest

from coderag.errors import InvalidQueryError, RetrievalError
from coderag.retrieval.text_search.search import _iter_spans
from coderag.retrieval.text_search.text_pattern import compile_literal, compile_regex, compile_spaced_literal

TEXT = f"x = '{'a' * 50_000}!'\ny = '{'aab' * 10_000}'\n" + "def f(a):\n    return (((((a)))))\n" * 50
LIMIT_S = 0.5
PATTERNS = [
    "(a+)+$", "(a|aa)+$", "(.*a){20}", "(.*a){20}z", "((a*)*)*b", "a{1,100000}", "(a{1,1000}){1,1000}",
    "((a{1,100}){1,100}){1,100}z", r"(a+)\1+z", r"(?<=a{1,1000}b)c", "(?<=(a+)+)z", "(?<!a*b)z", "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a?){30}a{30}z", "(a|b|ab)*c$", "[a-z]*[a-z]*[a-z]*[a-z]*!z", "(?i)(a+)+Z",
    "(?r)(a+)+z", "(?:(?:a+)+){e<=3}zzz", "(?e)(?:zzzzzzzz){e<=7}", "(?R)?a", "(?P<n>a|(?&n)a)+z", "a" * 2_000,
    "x*" * 900, "|" * 9_000, "(?s).*.*.*.*z", "(?b)(?:aaa){i<=5,d<=5,s<=5}z",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern[:30])
def test_search_ends_within_the_limit(pattern) -> None:
    start = time.perf_counter()
    try:
        list(_iter_spans(compile_regex(pattern, ignore_case=False), TEXT, 100_000, lambda: LIMIT_S, "a.py"))
    except RetrievalError as error:
        assert "timed out" in str(error) or "out of memory" in str(error)
    assert time.perf_counter() - start < LIMIT_S + 30  # for a busy machine: what explodes takes minutes


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(" * 3_000 + ")" * 3_000, "characters; the maximum is 2,000"),
        ("(" * 900 + ")" * 900, "nested too deeply"),
        ("(?:a|" * 400 + ")" * 400, "nested too deeply"),
        ("a" * 9_000, "characters; the maximum is 2,000"),
        ("[|]".join(["a" * 1_000] * 9), "characters; the maximum is 2,000"),
        ("[" * 500, "at position"),
        ("a{99999999999}", "repetitions"),
        ("(?V1)[a&&b]", "incompatible"),
        ("(a{10}){10}{10}", "multiple repeat"),
    ],
    ids=lambda value: value[:30],
)
def test_a_pattern_that_cannot_be_compiled_is_refused(pattern, reason) -> None:
    with pytest.raises(InvalidQueryError, match="regular expression") as caught:
        compile_regex(pattern, ignore_case=False)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    "pattern",
    [
        ".{3000000}", "(){5000}", "(?:a{100}){100}", "(?:" * 22 + "a|b" + "){1,9}" * 22, "(?:" * 22 + "a|b" + ")+" * 22,
        "(?x)(?:a{50} # (\n){50}", r"(?:a{50}(?#\)){50}", r"(?:a{50}[\](]){50}", "(?V1)[[)]a]{5000}", "[[:alpha:]]{3000}",
    ],
    ids=lambda pattern: pattern[:30],
)  # fmt: skip
def test_a_pattern_that_unrolls_to_millions_of_nodes_is_refused(pattern) -> None:
    with pytest.raises(InvalidQueryError, match="add more than 2,000 items"):
        compile_regex(pattern, ignore_case=False)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id = 123e4567-e89b-12d3-a456-426614174000"),
        (r"(?x) \d{4} - \d{2}  # a month", "2026-05"),
        (r"^.{1000,}$", "x" * 1_200),
        (r"(?:\w+\s+){0,5000}end", "a b c end"),
    ],
)
def test_ordinary_repetitions_are_accepted(pattern, text) -> None:
    assert list(_iter_spans(compile_regex(pattern, ignore_case=False), text, 10, lambda: 20, "a.py"))


@pytest.mark.parametrize("text", ["a" * 50_000, "    return foo(bar)\n" * 2_000, "(" * 30_000])
def test_long_literals_take_no_time_where_case_is_ignored(text) -> None:
    start = time.process_time()
    haystack = f"{text[:-1]}?{text.upper()}"
    pattern = compile_literal(text, ignore_case=True)
    assert list(_iter_spans(pattern, haystack, 10, lambda: 20, "a.py")) == [(len(text), 2 * len(text))]
    spaced = compile_spaced_literal(f"{text[:400]} b", ignore_case=True)
    assert spaced is not None
    assert len(list(_iter_spans(spaced, f"{text[:400]}  B", 10, lambda: 20, "a.py"))) == 1
    assert time.process_time() - start < 30  # a wrong one never ends; the processor's time does not depend on its load
