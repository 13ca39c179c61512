"""A member that its type does not have is refused in words, and nothing is told of others of its name."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import FILES, cited, extracted, places

MORE = {
    "shop/ledger.py": (
        "class Ledger:\n    def index(self, entry):\n        return self.entries[entry]\n\n\n"
        "def find(ledger, entry):\n    return ledger.index(entry)\n\n\n"
        "class Book(Ledger):\n    pass\n\n\ndef read(book: Book):\n    return book.index(1)\n\n\n"
        "class Shelf:\n    def indexes(self):\n        return []\n\n\n"
        "class Card:\n    def __init__(self):\n        self.index = 1\n"
    ),
    "tests/test_ledger.py": (
        "from shop.ledger import Ledger\n\n\ndef test_index():\n    assert Ledger().index(1) == 1\n"
    ),
}


@pytest.fixture(scope="module")
def shop():
    return make_context({**FILES, **MORE})


@pytest.mark.parametrize(
    "query",
    ["who calls Cart.index", "what tests Cart.index", "what does Cart.index call"],
)
def test_a_type_without_the_member_is_refused(shop, query):
    draft = extracted(shop, query)
    assert draft.lead.startswith("**`Cart` has no `index` that is declared or inherited in this repository.**")
    assert "Declared elsewhere: `Ledger.index` in `shop/ledger.py:2`" in draft.lead
    assert draft.shape == "not_found"
    assert "Called by" not in draft.text
    assert places(draft) == cited(draft)


def test_a_type_that_there_is_not_is_refused(shop):
    draft = extracted(shop, "who calls Bogus.index")
    assert "Nothing is called `Bogus`." in draft.text
    assert draft.missing == ["Nothing is called `Bogus`."]


def test_a_field_that_a_type_only_sets_is_its_member(shop):
    assert "has no" not in extracted(shop, "where is Card.index used").text


def test_members_that_are_spelt_nearly_so_are_named(shop):
    assert "Close by spelling: `Shelf.indexes`." in extracted(shop, "who calls Shelf.index").text
    assert "Close by spelling" not in extracted(shop, "who calls Cart.index").text


def test_what_a_type_inherits_is_its_member(shop):
    assert "has no" not in extracted(shop, "who calls Book.index").text
    assert "`read`" in extracted(shop, "who calls Book.index").text


@pytest.mark.parametrize("name", ["ledger.index", "self.store.index", "context.Request.index", "Ledger.index"])
def test_what_may_be_a_value_stands_for_any(shop, name):
    assert shop.graph.symbol_resolver.find_missing_member(name) is None
    assert shop.graph.permissive.symbol_resolver.find_candidates(name)


def test_a_dotted_module_without_the_member_is_refused_unless_it_may_pass_it_on(shop):
    targets = shop.graph.symbol_resolver
    assert targets.find_missing_member("shop.money.index") is not None
    assert targets.find_missing_member("shop.cart.round_up") is None
