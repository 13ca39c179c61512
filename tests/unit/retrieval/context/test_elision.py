from hypothesis import given
from hypothesis import strategies as st

from coderag.retrieval.context.elision import (
    WeightedLine,
    count_head_lines,
    elide_lines,
    join_with_markers,
    weigh_lines,
)

TEXTS = [
    "def login(user):",
    *(f"    step_{number}()" for number in range(20)),
    "    check(password)",
    "    return user",
]


def lines(texts=TEXTS, rarity=None, first=1):
    return [
        WeightedLine(number, text, value)
        for number, (text, value) in enumerate(
            zip(texts, weigh_lines("\n".join(texts), rarity or {}), strict=True), first
        )
    ]


def test_elision_keeps_head_and_question_terms():
    elided = [line.text for line in elide_lines(lines(rarity={"password": 3.0}), head=1, count=2)]
    assert elided[0] == TEXTS[0]
    assert elided[-2:] == TEXTS[-2:]
    assert len(elided) < 6


def test_rarer_term_makes_a_line_more_valuable():
    rare, _, common, _, plain = weigh_lines("zlib()\n\nvalue()\n\nother()", {"zlib": 6.0, "valu": 1.0})
    assert rare > common > plain


def test_term_of_few_lines_is_worth_more_than_one_of_many():
    texts = ["retry(user)", "", "load(user)", "", "save(user)", "", "drop(user)"]
    values = weigh_lines("\n".join(texts), {"user": 2.0, "retry": 1.5})
    assert values[0] > 1.3 * values[2]


def test_values_of_lines_add_up_to_one():
    assert abs(sum(weigh_lines("\n".join(TEXTS), {"password": 2.0})) - 1) < 1e-9
    assert abs(sum(weigh_lines("\n".join(TEXTS), {})) - 1) < 1e-9


def test_return_outweighs_a_plain_line_and_a_brace():
    leaving, plain, brace = weigh_lines("    return x\n    x = 1\n}", {})
    assert leaving > plain > brace > 0


def test_gap_marker_has_length_and_indentation():
    elided = [WeightedLine(10, "def f():"), WeightedLine(31, "    return 1")]
    assert join_with_markers(elided, 10, 31) == "def f():\n    … 20 lines\n    return 1"


def test_gaps_at_both_ends_are_marked():
    assert join_with_markers([WeightedLine(12, "x = 1")], 10, 13) == "… 2 lines\nx = 1\n… 1 line"


def test_gap_marker_mentions_lines_shown_before():
    assert "… 2 lines, shown before" in join_with_markers([WeightedLine(1, "a"), WeightedLine(4, "d")], 1, 4, {2, 3})


def test_gap_of_one_line_is_filled():
    assert len(elide_lines(lines(["a", "b", "c"]), head=1, count=1)) == 3


def test_head_includes_decorators_and_a_multiline_signature():
    texts = ["@app.route('/')", "def index(", "    a,", "    b,", "):", "    return a"]
    assert count_head_lines(texts, "def index( a, b, ):") == 5
    assert count_head_lines(["x = 1", "y = 2"], "") == 1


@given(
    texts=st.lists(st.sampled_from(["", "}", "x = password", "    return y", "for a in b:"]), min_size=1, max_size=60),
    count=st.integers(0, 60),
    head=st.integers(1, 5),
    first=st.integers(1, 50),
)
def test_shown_and_marked_lines_add_up(texts, count, head, first):
    given_lines = lines(texts, {"password": 1.0}, first)
    elided = elide_lines(given_lines, head, count)
    text = join_with_markers(elided, first, first + len(texts) - 1).split("\n")
    gaps = [int(line.split("… ")[1].split(" ")[0]) for line in text if "… " in line]
    assert len(elided) + sum(gaps) == len(texts)
    assert all(gap > 1 for gap in gaps)
    assert [line for line in text if "… " not in line] == [line.text for line in elided]
