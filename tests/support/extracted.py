"""Answers without a language model, as the query graph makes them."""

import re
from typing import Any

from coderag.answering.evidence.cited_lines import Draft
from coderag.answering.extractive.extract import extract
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import QueryState
from coderag.stores.snippets import build_related_snippets, build_result_snippets
from tests.support.graphs import run

PLACE = re.compile(r"`([^`\n]+?):(\d+)(?:-(\d+))?`")
"""A citation in the text of an answer."""

FILES = {
    "shop/money.py": (
        '"""Amounts of money."""\n\n\ndef round_up(value):\n    """Round a value up to whole cents."""\n'
        "    return int(value + 0.5)\n\n\ndef unused_rate():\n    return 0.19\n"
    ),
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Basket:\n"
        '    """Holds items."""\n\n    size = 1\n\n    def add(self, item):\n        self.items.append(item)\n\n\n'
        "class Cart(Basket):\n"
        '    """A basket that can be paid."""\n\n    def total(self):\n'
        '        """Return what all items cost."""\n        first = round_up(1)\n'
        "        return first + round_up(sum(self.items))\n\n"
        "    def pay(self, card):\n        return charge(card, self.total())\n\n\n"
        'def charge(card, amount):\n    """Take an amount from a card."""\n    check_card(card)\n'
        "    return card.take(amount)\n\n\n"
        'def check_card(card):\n    """Fail if a card has expired."""\n    if card.expired:\n        raise ValueError(card)\n'
    ),
    "shop/checkout.py": (
        "from shop.cart import Cart\n\n\ndef check_out(items, card):\n"
        '    """Sell items: the whole way from the items to the payment."""\n    cart = Cart()\n'
        "    for item in items:\n        cart.add(item)\n    return cart.pay(card)\n"
    ),
    "shop/wish_list.py": (
        "from shop.cart import Basket\n\n\nclass WishList(Basket):\n"
        '    """A basket that is only looked at."""\n\n    def share(self):\n        return list(self.items)\n'
    ),
    "tools/stray.py": "def stray(values):\n    return [round_up(value) for value in values]\n",
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_rounding():\n    assert round_up(0.2) == 1\n",
    "docs/money.md": (
        "# Money\n\nValues are rounded up before they are shown. See [the code](javascript:x).\n\n"
        "| kind | cents |\n|---|---|\n| net | 1 |\n\n- `round_up` does it\n\n```python\nround_up(1.5)\n```\n"
    ),
}
"""A small shop."""


def state_of(context: QueryContext, query: str, **given: Any) -> QueryState:
    """Return the state in which a question reaches the answer."""
    output = run(context, query, "context", **given)
    return {"query": query, "goal": "context", "candidates": [], "to_read": [], "widened": False, **given, **output}


def extracted(context: QueryContext, query: str, **given: Any) -> Draft:
    """Return the extractive answer to a question."""
    state = state_of(context, query, **given)
    corpus = context.corpus
    return extract(
        context,
        state,
        build_result_snippets(corpus, state["results"]),
        build_related_snippets(corpus, state["related"]),
    )


def places(draft: Draft) -> set[tuple[str, int, int]]:
    """Return the places that the text of an answer cites."""
    return {(path, int(start), int(end or start)) for path, start, end in PLACE.findall(draft.text)}


def cited(draft: Draft) -> set[tuple[str, int, int]]:
    """Return the places that its claims cite."""
    lines = [*(one for claim in draft.claims for one in claim.cited_lines), *draft.references]
    return {(one.path, one.start_line, one.end_line) for one in lines}
