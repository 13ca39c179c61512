"""How an assembled context is told to an agent."""

import pytest

from coderag.interfaces.mcp.context_reply import build_context_reply
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.schema.context import AssembledContext, ContextItem, ContextSection

PLACE = ("shop/pricing.py", 1, 30, "`total_price` (function)")


def told(shop, section, text, **facts) -> str:
    item = ContextItem("1", *PLACE, text, 5, facts.pop("detail", "full"), "python", name="total_price", **facts)
    context = AssembledContext("", "general", "", [ContextSection(section, [item], 5)], 5, 100, [], "found")
    return build_context_reply(RepositoryHandle(shop), context, max_tokens=1_000).render()[0]


@pytest.mark.parametrize(
    ("relation", "phrase"),
    [("callee", "called by"), ("contained_by", "holds"), ("test_for", "tests"), ("sibling", "beside")],
)
def test_related_code_says_how_it_belongs_to_its_result(shop, relation, phrase):
    text = told(shop, "related", "code", relation=relation, related_to="Cart.checkout")
    assert f"(function) ({phrase} `Cart.checkout`)" in text


@pytest.mark.parametrize(("secrets", "phrase"), [(1, "1 secret was removed."), (2, "2 secrets were removed.")])
def test_removed_secrets_are_counted(shop, secrets, phrase):
    keys = [f'{name} = "ghp_0123456789abcdefghijABCDEFGHIJ01234{number}"' for number, name in enumerate("AB")]
    assert phrase in told(shop, "primary", "\n".join(keys[:secrets]))
