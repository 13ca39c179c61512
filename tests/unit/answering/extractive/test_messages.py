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
    assert "The message is written in `shop/pay.py:15`, in `refund`:" in draft.text.split("The code for this")[0]
    assert places(draft) == cited(draft)


def test_a_message_in_several_parts_with_values_is_found(shop):
    text = extracted(shop, 'what causes "the card of Ada does not cover the amount of 30 cents"?').text
    assert "The message is written in `shop/pay.py:8-9`, in `charge`:" in text


def test_the_message_of_a_report_is_found(shop):
    report = (
        'Traceback (most recent call last):\n  File "/usr/lib/elsewhere/run.py", line 3, in run\n    start()\n'
        "shop.Refused: the card of Ada does not cover the amount of 30 cents\n"
        "RuntimeError: the card of Ada does not cover the amount of 30 cents\n"
    )
    assert "The message is written in `shop/pay.py:8-9`" in extracted(shop, report).text


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
    assert "The message is written" not in extracted(shop, question).text
