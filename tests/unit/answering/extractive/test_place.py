"""Answers to questions in plain words: the declaration first, code cut to the lines that decide, nothing told twice."""

import pytest

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.extractive.excerpts import build_excerpt, list_shown_lines
from tests.support.corpora import make_context
from tests.support.extracted import FILES, extracted


def test_the_first_sentence_names_the_declaration_with_its_place_and_documentation():
    text = extracted(make_context(FILES), "rounding of values to whole cents").text
    assert text.startswith("**`round_up`** (function) in `shop/money.py:4-6`: Round a value up to whole cents.")


def test_weak_evidence_makes_the_first_sentence_a_guess():
    answer = extracted(make_context(FILES), "rounding of values to whole cents", evidence="weak")
    assert answer.text.startswith("Probably **`round_up`**")


def test_weak_evidence_for_a_setting_makes_the_first_sentence_a_guess():
    files = {
        "shop/pool.py": "class Pool:\n    def __init__(self, keep_alive=5):\n        self.keep_alive = keep_alive\n"
    }
    answer = extracted(make_context(files), "what is the default keep alive of a pool", evidence="weak")
    assert answer.lead.startswith("Probably **`")
    assert "`5`" in answer.lead


def test_without_clear_evidence_the_nearest_is_named_as_such():
    answer = extracted(make_context(FILES), "rounding of cards to whole payments", evidence="not_found")
    assert answer.text.startswith("Nothing here clearly answers this; nearest: **`")


def test_a_word_that_no_file_has_comes_first_if_the_verdict_is_below_found():
    answer = extracted(make_context(FILES), "rounding of values to whole parsecs", evidence="weak")
    assert answer.lead.startswith("No indexed file has the word `parsecs`; nearest: **`round_up`** (function) in")
    assert answer.missing == ["No indexed file has the word `parsecs`."]
    assert "parsecs" not in extracted(make_context(FILES), "rounding of values to whole parsecs", evidence="found").lead


def test_a_name_that_no_file_has_comes_first_whatever_the_verdict():
    answer = extracted(make_context(FILES), "rounding of SOCKS5 values to whole cents", evidence="found")
    assert answer.lead.startswith("No indexed file has the word `SOCKS5`; nearest: **`round_up`**")


def test_a_name_is_known_in_any_spelling():
    files = FILES | {"shop/proxy.py": "def connect():\n    return 'socks-5'\n"}
    answer = extracted(make_context(files), "rounding of SOCKS5 values to whole cents", evidence="found")
    assert answer.lead.startswith("**`")


OTHER_WORDS = {
    "shop/cookies.py": (
        'def read_max_age(cookie):\n    """Read the age from a cookie."""\n    return cookie.max_age\n\n\n'
        "def limit_concurrency(pool):\n    return pool.concurrency\n\n\n"
        "def set_keep_alive(pool):\n    return pool.touch(3)\n"
    )
}


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("the maximum age of a cookie", "maximum"),
        ("the simultaneous use of a pool", "simultaneous"),
        ("the age that a cookie held", "held"),
        ("the age of 17 cookies", "17"),
        ("the keepalive of a pool", "keepalive"),
    ],
)
def test_a_word_that_the_code_has_in_another_form_is_no_evidence_of_absence(question, word):
    answer = extracted(make_context(OTHER_WORDS), question, evidence="weak")
    assert f"`{word}`" not in answer.lead
    assert answer.lead.startswith("Probably **`")
    assert not answer.missing


def test_a_word_without_any_form_in_the_code_stays_evidence_of_absence():
    answer = extracted(make_context(OTHER_WORDS), "the kafka age of a cookie", evidence="weak")
    assert answer.lead.startswith("No indexed file has the word `kafka`; nearest: **`read_max_age`**")


@pytest.mark.parametrize("question", ["qwertz asdf", "how does the flurbex get zorbed"])
def test_a_question_of_unknown_words_says_so_before_the_nearest(question):
    answer = extracted(make_context(FILES), question)
    assert answer.lead.startswith("**No indexed file has the words `")
    assert answer.shape == "not_found"


def test_a_misspelt_word_is_not_reported_as_unknown():
    answer = extracted(make_context(FILES), "roundin of values to whole cents", evidence="weak")
    assert answer.lead.startswith("Probably **`round_up`**")


def test_nothing_is_told_twice():
    answer = extracted(make_context(FILES), "how is the card charged and checked")
    spans = [(lines.path, lines.start_line, lines.end_line) for lines in answer.cited_lines]
    assert len(spans) == len(set(spans))


def test_read_next_leaves_out_tests_unless_the_question_is_about_them():
    answer = extracted(make_context(FILES), "how does rounding of a total work")
    assert "tests/test_money.py" not in answer.text


class TestExcerpts:
    BODY = "".join(f"    step_{number} = {number}\n" for number in range(60))
    TEXT = f"# What it is for.\n# And why.\ndef long_one(value):\n{BODY}    if value > limit:\n        stop()\n{BODY}"

    def _shown(self, term_idf, max_lines=8):
        lines = CitedLines("a.py", 11, 10 + self.TEXT.count("\n"), self.TEXT.rstrip("\n"))
        return list_shown_lines(
            build_excerpt(lines, "python", term_idf, signature="def long_one(value)", max_lines=max_lines)
        )

    def test_begins_at_the_signature_and_shows_the_lines_with_the_words(self):
        shown = self._shown({"limit": 3.0, "stop": 2.0})
        assert shown[:2] == ["… 2 lines", "def long_one(value):"]
        assert "    if value > limit:" in shown
        assert "        stop()" in shown
        assert len([line for line in shown if "…" not in line]) <= 8

    def test_without_words_shows_the_first_lines(self):
        shown = self._shown({})
        assert shown[1:4] == ["def long_one(value):", "    step_0 = 0", "    step_1 = 1"]

    def test_short_code_is_whole(self):
        lines = CitedLines("a.py", 1, 2, "def f():\n    return 1")
        assert list_shown_lines(build_excerpt(lines, "python", {})) == ["def f():", "    return 1"]

    def test_gaps_count_all_lines(self):
        shown = self._shown({"limit": 3.0})
        left_out = sum(int(line.split()[1]) for line in shown if line.strip().startswith("…"))
        assert left_out + len([line for line in shown if "…" not in line]) == self.TEXT.count("\n")


ATTRIBUTE = {
    "shop/state.py": "class State:\n    def __init__(self):\n        setattr(self, 'total_' + 'requests', 0)\n",
    "shop/serve.py": (
        "def serve(server):\n    server.state.total_requests += 1\n\n\n"
        "def check(server):\n    return server.state.total_requests > 9\n"
    ),
    "tests/test_serve.py": "def test_it(server):\n    assert server.state.total_requests\n",
}


@pytest.mark.parametrize(
    "question",
    ["what breaks if I change State.total_requests?", "what is affected if State.total_requests changes its type?"],
)
def test_what_depends_on_an_undeclared_attribute_is_named_in_the_first_sentence(question):
    answer = extracted(make_context(ATTRIBUTE), question)
    assert "2 declarations have it in the code: `serve` and `check`" in answer.lead
    assert "test_it" not in answer.lead
