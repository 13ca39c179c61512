from hypothesis import given
from hypothesis import strategies as st

from coderag.retrieval.elision import elide_body, signature_only

LONG = "\n".join(["def f():", *(f"    step_{number}()" for number in range(40)), "    return password", "# end"])


def test_head_end_and_lines_with_the_questions_terms_are_kept():
    lines = elide_body(LONG, {"password"}).split("\n")
    assert lines[0] == "def f():"
    assert "    return password" in lines
    assert lines[-1] == "# end"


def test_a_gap_says_how_many_lines_it_hides_and_keeps_the_indent():
    assert "    … 34 lines" in elide_body(LONG, {"password"}).split("\n")


def test_a_single_line_is_never_hidden():
    text = "\n".join(f"line {number}" for number in range(8))
    assert elide_body(text, ()) == text


def test_a_text_where_everything_matters_stays_whole():
    assert elide_body(LONG, {"step", "password"}).count("step_") == 40


@given(
    st.lists(st.sampled_from(["password = 1", "    other()", "", "x"]), max_size=40),
    st.sampled_from([(), ("password",)]),
)
def test_shown_and_hidden_lines_add_up(lines, terms):
    text = "\n".join(lines).rstrip("\n")
    shown = elide_body(text, terms).split("\n")
    hidden = sum(int(line.split()[1]) for line in shown if line.lstrip().startswith("…"))
    kept = sum(not line.lstrip().startswith("…") for line in shown)
    assert hidden + kept == len(text.split("\n"))


def test_a_signature_is_shown_with_its_docstring_indented():
    assert signature_only("def f():", "First.\n\nMore.") == "def f():\n    First.\n\n    More."


def test_a_signature_without_docstring_is_alone():
    assert signature_only("def f():", "") == "def f():"
