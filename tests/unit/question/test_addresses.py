"""What an answer cited is addressed by its number."""

import pytest

from coderag.answering.chat.focus import build_focus, explain_missing
from coderag.answering.chat.state import CitedPlace, Exchange
from coderag.question.follow_ups import read_follow_up

CITED = [
    CitedPlace(place="shop/money.py:1-3", name="round_up", kind="function"),
    CitedPlace(place="shop/money.py:7-8", name="Money.__init__", kind="method"),
    CitedPlace(place="shop/cart.py:8-12", name="Cart", kind="class"),
    CitedPlace(place="docs/money.md:1-3", name="docs/money", kind="section"),
]
PLACES = [place["place"] for place in CITED]


def focus_on(cited):
    exchange = Exchange(
        text="how is money rounded", question="how is money rounded", answer="…", cited=cited, focus=[],
        generator="extractive", asked="",
    )  # fmt: skip
    return build_focus([exchange])


def read(text, cited=CITED):
    return read_follow_up(text, focus_on(cited))


def read_remark(text, cited=CITED):
    missing = read(text, cited).missing
    assert missing
    return explain_missing(missing, focus_on(cited))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("open 3", [3]),
        ("show me the second one", [2]),
        ("Show me the second one, please.", [2]),
        ("the second one", [2]),
        ("2", [2]),
        ("#2", [2]),
        ("[2]", [2]),
        ("print number 4", [4]),
        ("can you show me the code of the third result?", [3]),
        ("open the last one", [4]),
        ("show the 3rd citation again", [3]),
        ("show 1 and 3", [1, 3]),
        ("show 1, 2 and 4", [1, 2, 4]),
        ("show me 2-4", [2, 3, 4]),
        ("show me the first two", [1, 2]),
        ("open the top 3 results", [1, 2, 3]),
        ("ok, show me the first of them", [1]),
        ("show me the first class", [3]),
        ("open the second function", [2]),
    ],
)
def test_a_number_shows_its_place(text, numbers):
    assert read(text).places == [PLACES[number - 1] for number in numbers]


def test_files_are_counted_apart():
    assert read("open the first file").places == ["shop/money.py"]
    assert read("show the second file").places == ["shop/cart.py"]
    assert read("show the last file").places == ["docs/money.md"]
    assert read("show me the whole file").places == ["shop/money.py"]


def test_a_file_that_is_cited_again_keeps_its_number():
    cited = [CITED[2], CITED[0], CitedPlace(place="shop/cart.py:9", name="Cart.total", kind="method")]
    assert read("open the first file", cited).places == ["shop/cart.py"]
    assert read("who imports the second file?", cited).question == "who imports shop/money.py?"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("who calls the second one", "who calls `Money.__init__`"),
        ("what does [1] return?", "what does `round_up` return?"),
        ("explain #3", "explain `Cart`"),
        ("who imports the first file?", "who imports shop/money.py?"),
        ("compare the first and the third", "compare `round_up` and `Cart`"),
        ("what does the fourth one say", "what does docs/money.md say"),
        ("how does result 2 use result 1", "how does `Money.__init__` use `round_up`"),
    ],
)
def test_an_address_in_a_question_becomes_the_name(text, meant):
    follow_up = read(text)
    assert (follow_up.question, follow_up.is_follow_up, follow_up.places) == (meant, "yes", ())


@pytest.mark.parametrize(
    "text",
    [
        "what is the first argument of round_up",
        "where is the first function that parses TOML",
        "what happens first",
        "show me the parser",
        "how are the last results in the cache dropped",
        "what does items[0] hold",
        "show me items[2]",
        "does the client retry a second time",
        "how many of the first 100 rows are read",
    ],
)
def test_other_numbers_are_left_alone(text):
    follow_up = read(text)
    assert (follow_up.question, follow_up.is_follow_up, follow_up.places) == (text, "no", ())


def test_a_number_beyond_the_citations_gets_a_kind_remark_with_what_there_is():
    remark = read_remark("open 9")
    assert "cites 4 places, so there is no number 9" in remark
    assert "2. `shop/money.py:7-8` Money.__init__" in remark


def test_a_kind_that_was_not_cited_gets_a_remark():
    assert "no classes" in read_remark("show the first class", CITED[:2])
    assert "no last class" in read_remark("show the last class", CITED[:2])


def test_without_an_answer_nothing_has_a_number():
    assert "no place has a number" in read_remark("who calls the second one", [])
