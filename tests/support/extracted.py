"""Answers without a language model, as the query graph makes them."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.extractive.extract import extract
from coderag.answering.extractive.sections import Draft, DraftStatement
from coderag.answering.rendering.checked_lines import CheckedLines
from coderag.answering.rendering.markdown import render_markdown
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import Citation
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import Evidence
from coderag.stores.snippets import build_result_snippets
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


class TrustingChecker:
    """A checker of citations for contexts without files on disk: all lines are as they were indexed."""

    def check(self, lines: CitedLines) -> Citation:
        """Return the citation of some lines."""
        digest = hashlib.sha256(lines.text.encode()).hexdigest()
        return Citation(lines.path, lines.start_line, lines.end_line, digest, verified=True)


@dataclass(frozen=True)
class Extracted:
    """An extractive answer and its text."""

    draft: Draft

    @cached_property
    def cited_lines(self) -> list[CitedLines]:
        """Lines that its sections cite."""
        return list(chain.from_iterable(section.cited for section in self.draft.sections))

    @cached_property
    def text(self) -> str:
        """Its text in Markdown."""
        return render_markdown(self.draft.sections, CheckedLines(self.cited_lines, TrustingChecker()))

    @property
    def lead(self) -> str:
        """First paragraph of the text."""
        return self.text.split("\n\n")[0]

    @property
    def missing(self) -> list[str]:
        """What was asked for and is not known."""
        return self.draft.missing

    @property
    def claims(self) -> list[DraftStatement]:
        """Statements that their lines prove."""
        statements = chain.from_iterable(section.statements for section in self.draft.sections)
        return [statement for statement in statements if statement.is_claim and statement.cited]

    @property
    def shape(self) -> str:
        """Shape of the answer."""
        return self.draft.shape


def extracted(context: QueryContext, query: str, *, evidence: Evidence | None = None, **given: Any) -> Extracted:
    """Return the extractive answer to a question, with a verdict of its own if one is given."""
    state = state_of(context, query, **given)
    if evidence:
        state["evidence"] = evidence
    corpus = context.corpus
    results = build_result_snippets(corpus, state["results"])
    return Extracted(extract(AnswerInput(context, state, results)))


def places(answer: Extracted) -> set[tuple[str, int, int]]:
    """Return the places that the text of an answer cites."""
    return {(path, int(start), int(end or start)) for path, start, end in PLACE.findall(answer.text)}


def cited(answer: Extracted) -> set[tuple[str, int, int]]:
    """Return the places that the sections of an answer cite."""
    return {(lines.path, lines.start_line, lines.end_line) for lines in answer.cited_lines}
