import pytest

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.extract import extract
from coderag.schema.vocabulary import AskedAspect
from coderag.stores.snippets import build_result_snippets
from tests.support.corpora import make_context
from tests.support.extracted import Extracted, state_of

FILES = {
    "shop/till.py": (
        "def charge(card, amount: int = 1, *, retries=3) -> Receipt:\n"
        '    """Take an amount from a card."""\n    if card.expired:\n        raise CardError(card)  # raise early\n'
        "    if not amount:\n        raise ValueError(amount)\n    return card.take(amount)\n\n\n"
        "def pay(card):\n    return charge(card)\n\n\ndef greet():\n    print('raise a glass')\n"
    ),
    "shop/key.go": (
        "package shop\n\nfunc (s *Shop) Open(key string, hours map[string]int) (int, error) {\n"
        '\tif key == "" {\n\t\treturn 0, errNoKey\n\t}\n\treturn 1, nil\n}\n'
    ),
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def answer(context, name: str, aspect: AskedAspect) -> Extracted:
    """Return the answer to a question for an aspect of a name."""
    state = state_of(context, f"where is {name} defined")
    reading = {**state["analysis"]["reading"], "aspect": aspect, "subjects": [name]}
    state = {**state, "analysis": {**state["analysis"], "reading": reading}}
    results = build_result_snippets(context.corpus, state["results"])
    return Extracted(extract(AnswerInput(context, state, results)))


def test_a_signature_is_quoted_with_its_purpose(shop):
    lead = answer(shop, "charge", "signature").lead
    assert "has the signature `def charge(card, amount: int = 1, *, retries=3) -> Receipt` — `shop/till.py:1`" in lead
    assert lead.endswith("Take an amount from a card.")


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("charge", "takes 3 parameters: `card`, `amount: int = 1` and `retries=3` — `shop/till.py:1`"),
        ("Shop.Open", "takes 2 parameters: `key string` and `hours map[string]int` — `shop/key.go:3`"),
        ("greet", "takes no parameters — `shop/till.py:14`"),
    ],
)
def test_parameters_are_split_outside_of_brackets(shop, name, takes):
    assert takes in answer(shop, name, "parameters").lead


def test_the_return_type_and_the_returned_values_are_listed(shop):
    result = answer(shop, "charge", "returns")
    assert result.lead == "**`charge`** returns `Receipt` — `shop/till.py:1`."
    assert "- `return card.take(amount)` — `shop/till.py:7`" in result.text


def test_raised_errors_are_listed_with_their_lines(shop):
    result = answer(shop, "charge", "raises")
    assert result.lead.startswith("**`charge`** raises `CardError` and `ValueError`")
    assert "- `raise ValueError(amount)` — `shop/till.py:6`" in result.text


def test_errors_of_callees_are_told_apart_from_own_ones(shop):
    result = answer(shop, "pay", "raises")
    assert result.lead.startswith("**`pay`** raises no error in its own lines")
    assert (
        "**Raised by what it calls**\n\n- `charge`: `raise CardError(card) # raise early` — `shop/till.py:4`"
        in result.text
    )


def test_no_error_is_no_claim(shop):
    result = answer(shop, "greet", "raises")
    assert result.missing == ["No line of `greet` raises an error."]
    assert not result.draft.sections[0].statements[0].is_claim
