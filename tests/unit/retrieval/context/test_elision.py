from hypothesis import given
from hypothesis import strategies as st

from coderag.retrieval.context.elision import (
    WeightedLine,
    count_head_lines,
    elide_lines,
    format_signature,
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
            zip(texts, weigh_lines("\n".join(texts), rarity or {}, 1.0), strict=True), first
        )
    ]


def test_elision_keeps_head_tail_and_question_terms():
    elided = [line.text for line in elide_lines(lines(rarity={"password": 3.0}), head=1, share=0.2)]
    assert elided[0] == TEXTS[0]
    assert elided[-2:] == TEXTS[-2:]
    assert len(elided) < 8


def test_rarer_term_makes_a_line_more_valuable():
    rare, _, common, _, plain = weigh_lines("zlib()\n\nvalue()\n\nother()", {"zlib": 6.0, "valu": 1.0}, 1.0)
    assert rare > common > plain


def test_return_outweighs_a_plain_line_and_a_brace():
    leaving, plain, brace = weigh_lines("    return x\n    x = 1\n}", {}, 1.0)
    assert leaving > plain > brace > 0


def test_gap_marker_has_length_and_indentation():
    elided = [WeightedLine(10, "def f():"), WeightedLine(31, "    return 1")]
    assert join_with_markers(elided, 10, 31) == "def f():\n    … 20 lines\n    return 1"


def test_gaps_at_both_ends_are_marked():
    assert join_with_markers([WeightedLine(12, "x = 1")], 10, 13) == "… 2 lines\nx = 1\n… 1 line"


def test_gap_marker_mentions_lines_shown_before():
    assert "… 2 lines, shown before" in join_with_markers([WeightedLine(1, "a"), WeightedLine(4, "d")], 1, 4, {2, 3})


def test_gap_of_one_line_is_filled():
    assert len(elide_lines(lines(["a", "b", "c"]), head=1, share=0.0)) == 3


def test_head_includes_decorators_and_a_multiline_signature():
    texts = ["@app.route('/')", "def index(", "    a,", "    b,", "):", "    return a"]
    assert count_head_lines(texts, "def index( a, b, ):") == 5
    assert count_head_lines(["x = 1", "y = 2"], "") == 1


@given(
    texts=st.lists(st.sampled_from(["", "}", "x = password", "    return y", "for a in b:"]), min_size=1, max_size=60),
    share=st.floats(0, 1),
    head=st.integers(1, 5),
    first=st.integers(1, 50),
)
def test_shown_and_marked_lines_add_up(texts, share, head, first):
    given_lines = lines(texts, {"password": 1.0}, first)
    elided = elide_lines(given_lines, head, share)
    text = join_with_markers(elided, first, first + len(texts) - 1).split("\n")
    gaps = [int(line.split("… ")[1].split(" ")[0]) for line in text if "… " in line]
    assert len(elided) + sum(gaps) == len(texts)
    assert all(gap > 1 for gap in gaps)
    assert [line for line in text if "… " not in line] == [line.text for line in elided]


def test_signature_is_formatted_with_its_docstring():
    assert format_signature("def f():", "Do it.\n\nWell.") == "def f():\n    Do it.\n\n    Well."
    assert format_signature("def f():", "") == "def f():"
