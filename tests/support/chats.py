"""A small shop with an index, to talk about."""

from pathlib import Path
from typing import Any

from coderag.app import CodeRAG
from coderag.engine.chat import Approval, Chat
from coderag.schema.answers import Answer, AnswerEvent
from tests.support.corpora import write_files

SHOP = {
    "shop/money.py": (
        'def round_up(value):\n    """Round a value up to whole units."""\n    return int(value + 0.5)\n\n\n'
        'class Money:\n    """An amount that is rounded up."""\n\n    def __init__(self, amount):\n'
        "        self.amount = round_up(amount)\n"
    ),
    "shop/cart.py": (
        'from shop.money import round_up\n\n\nclass Cart:\n    """Holds items."""\n\n    def total(self):\n'
        "        return round_up(sum(self.items))\n\n\ndef checkout(cart):\n"
        '    """Take the money for a cart."""\n    return cart.total()\n'
    ),
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_rounding():\n    assert round_up(0.2) == 1\n",
}


def make_shop(folder: Path, **settings: Any) -> CodeRAG:
    """Return the shop, indexed; every declaration is a chunk of its own."""
    rag = CodeRAG(write_files(folder, SHOP), ingestion={"chunk": {"min_tokens": 0}}, **settings)
    rag.index()
    return rag


async def events_of(chat: Chat, text: str, *, approve: bool | None = None) -> list[AnswerEvent | Approval]:
    """Return all that an answer's stream gives."""
    return [event async for event in chat.astream(text, approve=approve)]


def answer_in(events: list[AnswerEvent | Approval]) -> Answer:
    """Return the answer that ends a stream."""
    last = events[-1]
    assert isinstance(last, AnswerEvent), f"{last} waits for an approval"
    assert last.answer is not None, "the stream ended without an answer"
    return last.answer
