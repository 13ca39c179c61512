"""Golden sets from tests and the code that they call."""

import pytest

from evals.mining import mine_tests
from evals.repository import Repository

FILES = {
    "shop/cart.py": """def discounted(price):
    return price * 0.9


def charged(price):
    return max(0, price)


def parsed(text):
    return float(text)


def shown(price):
    return f"{price:.2f}"
""",
    "tests/test_cart.py": '''from shop.cart import charged, discounted, parsed, shown


def test_nothing_below_zero_is_taken():
    assert charged(-1) == 0


def test_it():
    assert charged(1) == 1


def test_prices_are_shown_with_cents():
    assert shown(discounted(charged(parsed("1")))) == "0.90"


def test_the_weather_is_fine_today():
    assert True


def test_digits():
    """Ensure that text of digits becomes a number."""
    assert parsed("1") == 1


def helper_of_some_other_tests():
    return charged(1)
''',
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Repository:
    root = tmp_path_factory.mktemp("repository")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return Repository.open(root, ingestion={"workers": 0})


@pytest.fixture(scope="module")
def asked(repository):
    return {question.question: question for question in mine_tests(repository).questions}


def test_a_test_asks_for_the_code_that_it_calls(asked):
    question = asked["nothing below zero is taken"]
    assert [answer.location for answer in question.answers] == ["shop/cart.py:5-6 charged"]
    assert question.also == ()  # the test itself has the words of the question, so to find it is no feat
    assert question.origin == "test tests/test_cart.py::test_nothing_below_zero_is_taken, what it calls"


def test_of_many_calls_those_are_meant_that_the_test_speaks_of(asked):
    question = asked["prices are shown with cents"]
    assert [answer.symbol for answer in question.answers] == ["shown"]
    assert {target.symbol for target in question.also} == {"discounted", "charged", "parsed"}
    assert "names-answer" in question.tags


def test_a_docstring_says_more_than_a_short_name(asked):
    assert [answer.symbol for answer in asked["text of digits becomes a number"].answers] == ["parsed"]


def test_what_makes_no_question_is_counted(repository, asked):
    mined = mine_tests(repository)
    assert len(asked) == 3
    assert mined.considered == 5
    assert mined.dropped == {"too few words": 1, "no call of source code is known": 1}


def test_the_limit_is_kept(repository):
    assert len(mine_tests(repository, limit=1).questions) == 1
