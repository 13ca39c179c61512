"""Answers to whether something is unused say what is known, and never that it is proved."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import FILES, extracted


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def test_used_declaration_is_answered_by_its_users(shop):
    answer = extracted(shop, "is charge unused?")
    assert answer.lead.startswith(
        "**It is used.** **`charge`** (function, `shop/cart.py:25`) is called by 1 declaration"
    )


def test_declaration_without_known_use_is_not_denied(shop):
    answer = extracted(shop, "is unused_rate unused?")
    assert "No use of **`unused_rate`**" in answer.lead
    assert "A search cannot prove that code is unused" in answer.text
    assert not any(statement.is_claim for statement in answer.draft.sections[0].statements)


def test_declarations_without_known_use_are_listed(shop):
    answer = extracted(shop, "what code is unused?")
    assert " have no known use.**" in answer.lead
    assert "`unused_rate` (function, likely)" in answer.text
