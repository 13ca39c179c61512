import pytest

from coderag.question.analysis import analyze
from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

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


def test_first_sentence_states_what_is_raised_and_when(shop):
    answer = extracted(shop, "what happens when a voucher has expired")
    assert answer.lead.startswith(
        '**`check`** raises `Refused("the voucher has expired")` under `if voucher.until < today:` in `shop/voucher.py:14`.'
    )
    assert 'raise Refused("the voucher has expired")' in answer.text
    assert "Step by step" not in answer.text
    assert places(answer) == cited(answer)


def test_failures_of_something_else_and_of_tests_do_not_decide(shop):
    answer = extracted(shop, "what happens when a voucher has expired")
    assert "no goods" not in answer.text.split("**Read next**")[0]
    assert "tests/test_voucher.py" not in answer.text.split("**Read next**")[0]


def test_handler_of_a_caller_is_listed_with_its_call():
    source = (
        "class Refused(Exception):\n    pass\n\n\n"
        'def check(card):\n    if card.expired:\n        raise Refused("card expired")\n\n\n'
        "def pay(card):\n    try:\n        check(card)\n    except Refused as refusal:\n        print(refusal)\n"
    )
    text = extracted(make_context({"shop/pay.py": source}), "what happens when the card has expired").text
    assert (
        "`pay` calls it in `shop/pay.py:12` and has the handler `except Refused as refusal:` in `shop/pay.py:13`"
        in text
    )


def test_statement_is_worded_by_its_kind_in_other_languages():
    source = (
        "package net\n\nfunc listen(port int) error {\n\tif port == 0 {\n"
        '\t\treturn fmt.Errorf("port is missing")\n\t}\n\treturn nil\n}\n'
    )
    lead = extracted(make_context({"net/listen.go": source}), "what happens when the port is missing").lead
    assert lead.startswith(
        '**`listen`** returns `fmt.Errorf("port is missing")` under `if port == 0 {` in `net/listen.go:5`.'
    )


def test_code_that_never_fails_has_no_deciding_statement():
    context = make_context({"shop/book.py": "def book(goods):\n    return list(goods)\n"})
    assert "raises" not in extracted(context, "what happens when the goods are missing while they are booked").text


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
