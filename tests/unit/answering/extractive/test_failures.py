import pytest

from coderag.question.analysis import analyze
from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

HEADING = "**Where this seems to fail or to be handled**"
FILES = {
    "shop/voucher.py": (
        '"""Vouchers."""\n\n\ndef redeem(voucher, today):\n    """Take the amount of a voucher off."""\n'
        "    check(voucher, today)\n    book(voucher)\n    return voucher.amount\n\n\n"
        'def check(voucher, today):\n    """Look at a voucher."""\n    if voucher.until < today:\n'
        '        raise Refused("the voucher has expired")\n\n\n'
        "def book(voucher):\n    voucher.redeemed = True\n"
    ),
    "shop/stock.py": "def count(goods):\n    if not goods:\n        raise ValueError('no goods')\n    return len(goods)\n",
    "tests/test_voucher.py": (
        "from shop.voucher import redeem\n\n\ndef test_expired_voucher():\n    try:\n        redeem(old, today)\n"
        "    except Refused:  # the voucher has expired\n        return\n"
    ),
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def test_what_raises_comes_first_and_no_ordinary_flow_is_told(shop):
    draft = extracted(shop, "what happens when a voucher has expired")
    assert draft.text.startswith(HEADING)
    assert 'raise Refused("the voucher has expired")' in draft.text
    assert "The code for this" not in draft.text  # what else was found is a list
    assert "Step by step" not in draft.text
    assert draft.shape == "explanation"
    assert places(draft) == cited(draft)


def test_failures_of_something_else_and_of_tests_are_not_shown(shop):
    shown = extracted(shop, "what happens when a voucher has expired").text.split("**Read next**")[0]
    assert "no goods" not in shown
    assert "tests/test_voucher.py" not in shown


def test_there_is_no_such_part_where_nothing_fails_so(shop):
    assert HEADING not in extracted(shop, "what happens when the printer is offline while goods are booked").text


def test_what_goes_well_is_told_as_a_flow(shop):
    assert "Step by step" in extracted(shop, "what happens when a voucher is redeemed").text


@pytest.mark.parametrize(
    "question",
    [
        "what happens when the request times out",
        "what happens if the config file is missing",
        "What happens when a certificate can't be obtained?",
        "how are connection errors handled",
        "what if two names conflict",
        "what happens when a provider returns null",
        "what happens if the list is empty",
    ],
)
def test_questions_of_failures_are_told(question):
    assert analyze(question)["reading"]["kind"] == "failure"


@pytest.mark.parametrize(
    "question",
    ["what happens when a request is handled", "how is the timeout set", "where is NotFound defined"],
)
def test_other_questions_are_none(question):
    assert analyze(question)["reading"]["kind"] != "failure"
