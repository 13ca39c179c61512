import re

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

FILES = {
    "shop/pay.py": (
        '"""Payments."""\n\n\ndef charge(card, amount):\n    """Take an amount; a card must not be expired."""\n'
        "    if card.limit < amount:\n        raise Refused(\n"
        '            f"the card of {card.owner} does not cover "\n            f"the amount of {amount} cents"\n        )\n'
        "    return card.take(amount)\n\n\n"
        'def refund(card):\n    log.error("refund of %s is not possible any more", card)\n'
    ),
    "docs/errors.md": "# Errors\n\nWho reads `refund of X is not possible any more` has waited too long.\n",
    "tests/test_pay.py": 'def test_it():\n    assert "refund of 7 is not possible any more" in told\n',
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


@pytest.mark.parametrize(
    "question",
    [
        'why do I get "refund of 1234 is not possible any more"',
        "what does `refund of 1234 is not possible any more` mean",
        "why do I get the error refund of 1234 is not possible any more?",
        "shop: error: refund of 1234 is not possible any more",
        "Error: closing the shop: refund of 1234 is not possible any more",
    ],
)
def test_an_answer_begins_where_the_message_is_written_in_the_code(shop, question):
    draft = extracted(shop, question)
    assert draft.text.startswith("**`refund`** writes this message in `shop/pay.py:15`")
    assert places(draft) == cited(draft)


def test_a_message_in_several_parts_with_values_is_found(shop):
    text = extracted(shop, 'what causes "the card of Ada does not cover the amount of 30 cents"?').text
    assert "**`charge`** writes this message in `shop/pay.py:8-9`" in text


def test_the_message_of_a_report_is_found(shop):
    report = (
        'Traceback (most recent call last):\n  File "/usr/lib/elsewhere/run.py", line 3, in run\n    start()\n'
        "shop.Refused: the card of Ada does not cover the amount of 30 cents\n"
        "RuntimeError: the card of Ada does not cover the amount of 30 cents\n"
    )
    assert "writes this message in `shop/pay.py:8-9`" in extracted(shop, report).text


@pytest.mark.parametrize(
    "question",
    [
        'why do I get "the amount is zero"',
        "what does 'card' mean",
        "how is a refund made",
        "why do we get the amount of a card",
    ],
)
def test_what_nothing_writes_word_for_word_is_not_said_to_be_written(shop, question):
    assert "writes this message" not in extracted(shop, question).text


REFUSALS = {
    "shop/pay.py": (
        'def charge(card):\n    raise Refused("unrecognized card: %s", card)\n\n\n'
        'def hold(card):\n    # the card limit is told by its bank\n    tell("what is left after the card limit")\n'
    ),
    "shop/gift.py": 'def wrap(card):\n    raise Refused("unrecognized card: %s", card)\n',
    "tests/test_pay.py": 'def test_it():\n    assert "card was stolen" in told\n',
}


@pytest.mark.parametrize(
    "question", ["unrecognized card", 'what does "unrecognized card" mean', "unrecognized card: 7"]
)
def test_a_short_message_is_found_where_a_literal_begins_with_it_and_all_places_are_told(question):
    draft = extracted(make_context(REFUSALS), question)
    assert re.match(r"\*\*`\w+`\*\* writes this message in `shop/", draft.text)
    assert {("shop/pay.py", 2, 2), ("shop/gift.py", 2, 2)} <= places(draft) == cited(draft)


@pytest.mark.parametrize("question", ["card limit", "card was stolen", "charge card", "where is the unrecognized card"])
def test_words_that_begin_no_literal_of_the_code_are_no_message(question):
    assert "writes this message" not in extracted(make_context(REFUSALS), question).text


@pytest.mark.parametrize("evidence", ["weak", "not_found"])
def test_what_a_message_makes_sure_is_not_said_to_be_weak(shop, evidence):
    answer = extracted(shop, 'why do I get "refund of 1234 is not possible any more"', evidence=evidence)
    assert answer.text.startswith("**`refund`** writes this message in `shop/pay.py:15`")
    assert answer.shape == "explanation"


def test_calls_that_lead_to_the_message_are_listed():
    files = {**FILES, "shop/desk.py": "from shop.pay import refund\n\n\ndef help_out(card):\n    refund(card)\n"}
    text = extracted(make_context(files), 'why do I get "refund of 1234 is not possible any more"').text
    assert "**Calls of `refund`**\n\n- `help_out`: `refund(card)` — `shop/desk.py:5`" in text


VALUED = {
    "shop/pool.py": 'def open_pool(pool):\n    log.debug("Starting new pool (%d): %s:%s", pool.number, pool.host, pool.port)\n',
    "shop/stock.py": (
        'def bind(name):\n    """Bind a stream."""\n'
        '    raise Refused(f"stock: duplicate stream name ({name} and {name.other})")\n\n\n'
        "def check(value):\n"
        '    raise Refused(f"configuration requests {value.field} to be {value.wanted}, but the value is {value.real}")\n'
    ),
    "tests/test_stock.py": ('def test_it():\n    assert "stock: duplicate stream name (ORDERS and EVENTS)" in told\n'),
}


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Starting new pool (1): a.example:443", "**`open_pool`** writes this message in `shop/pool.py:2`"),
        ("stock: duplicate stream name (ORDERS and EVENTS)", "**`bind`** writes this message in `shop/stock.py:3`"),
        (
            "configuration requests max waiting to be 512, but the value is 256",
            "**`check`** writes this message in `shop/stock.py:7`",
        ),
    ],
)
def test_a_message_that_sounds_like_another_question_is_answered_by_the_code_that_writes_it(question, place):
    assert extracted(make_context(VALUED), question).lead.startswith(place)


def test_the_beginning_of_a_message_that_code_puts_together_is_named():
    files = {
        "shop/error.rs": (
            'fn describe(code: u16) -> String {\n    let prefix = "HTTP status client error";\n'
            '    format!("{prefix} ({code})")\n}\n'
        )
    }
    text = extracted(
        make_context(files), 'why "HTTP status client error (404 Not Found) for url (https://a.example/b)"?'
    ).text
    assert text.startswith("**`describe`** writes this message in `shop/error.rs:2")
