import pytest

from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

MEMBERS = "".join(f"    def step_{number}(self):\n        return {number}\n\n" for number in range(12))
FILES = {
    "shop/cart.py": (
        'class Cart:\n    """Holds items. It can be paid."""\n\n    def __init__(self):\n        self._items = []\n\n'
        f"    def _check(self):\n        return self._items\n\n{MEMBERS}"
    ),
    "shop/rates.py": "def find_rate(kind):\n    return 1\n\n\nclass Rate:\n    def cart(self):\n        return find_rate(1)\n",
    "shop/checkout.py": "from shop.cart import Cart\n\n\ndef check_out():\n    return Cart()\n",
    "far/away.py": "from shop.cart import Cart\n\n\ndef borrow():\n    return Cart()\n",
    "shop/symbols.js": "module.exports = build({ kIsPaid: Symbol('shop.is-paid') })\n",
    "shop/paying.js": "function pay (cart) {\n  cart[kIsPaid] = true\n}\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_it():\n    assert Cart()\n",
    "tests/helpers.py": "def Cart(size):\n    return [None] * size\n",
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def test_the_first_sentence_names_kind_place_signature_and_purpose(shop):
    answer = extracted(shop, "where is Cart defined")
    assert answer.lead.startswith("**`Cart`** (class) is declared in `shop/cart.py:1-")
    assert answer.lead.endswith("`class Cart`: Holds items.")
    assert answer.shape == "definition"
    assert places(answer) == cited(answer)


def test_a_short_declaration_is_shown_whole(shop):
    text = extracted(shop, "where is find_rate defined").text
    assert "```python\ndef find_rate(kind):\n    return 1\n```" in text


def test_public_members_are_listed_and_private_ones_counted(shop):
    text = extracted(shop, "where is Cart defined").text
    assert "**Members of `Cart` (14)**" in text
    assert text.count("def step_") == 8
    assert "_check" not in text
    assert "- and 5 more and 1 private: `coderag graph outline shop/cart.py`" in text


def test_users_are_counted_and_the_nearest_come_first(shop):
    text = extracted(shop, "where is Cart defined").text
    used = text.partition("**Used in 2 places of 2 files, and in 1 place in tests**")[2]
    assert used.index("`check_out`") < used.index("`borrow`")
    assert "test_it" not in used


def test_other_declarations_of_the_name_are_listed_with_their_places(shop):
    text = extracted(shop, "where is Cart defined").text
    assert "Also declared: `Cart` (function) in `tests/helpers.py:1`." in text


def test_a_misspelt_name_is_answered_by_the_nearest(shop):
    lead = extracted(shop, "where is find_rte defined").lead
    assert lead.startswith(
        "Nothing is called `find_rte`; **`find_rate`** (function) is declared in `shop/rates.py:1-2`"
    )


def test_a_name_without_a_declaration_is_located_where_it_is_written(shop):
    answer = extracted(shop, "where is kIsPaid defined")
    assert "`kIsPaid`" in answer.lead
    assert "`shop/paying.js:2`" in answer.text or "`shop/symbols.js:1`" in answer.text
    assert "unrelated" not in answer.text
