"""What a model did wrong is told with what to do next; what we did wrong is not shown to it."""

import logging

import pytest

from coderag.errors import AmbiguousNameError, IndexNotFoundError, ModelUnavailableError
from coderag.interfaces.mcp.errors import format_error
from coderag.schema.graph import GraphDeclaration
from tests.interfaces.mcp.conftest import connected, text_of

WRONG = [
    ("coderag_symbol", {"name": "total_prise"}, "Did you mean `total_price`"),
    ("coderag_explain", {"file_path": "shop/prising.py"}, "Did you mean `shop/pricing.py`"),
    ("coderag_context", {"file_path": "logo.bin"}, "logo.bin is not in the index: binary file"),
    ("coderag_context", {"file_path": "cart.py"}, "Did you mean `shop/cart.py`"),
    ("coderag_context", {"file_path": "shop"}, "shop is a folder with 3 indexed files"),
    ("coderag_context", {"file_path": "shop/cart.py:900"}, "none of them from 900 on"),
    ("coderag_context", {}, "give query or file_path"),
    ("coderag_explain", {"name": "a", "file_path": "b"}, "give file_path or name, one of them"),
    ("coderag_search", {"query": "(", "mode": "regex"}, "Use mode exact"),
    ("coderag_search", {"query": "cart", "topk": 5}, "topk: unknown parameter"),
    ("coderag_search", {"query": "cart", "path": "shop"}, "It takes: query, mode, language, file_path,"),
    ("coderag_symbol", {"name": "no items in the cart"}, "coderag_search finds it by words"),
    ("coderag_search", {"query": "cart", "top_k": 500}, "top_k: Input should be less than or equal to 50"),
    ("coderag_search", {"query": "cart", "mode": "fuzzy"}, "'hybrid', 'exact' or 'regex'"),
    ("coderag_search", {"query": "cart", "changed_since": "no-such-branch"}, "unknown git revision 'no-such-branch'"),
    ("coderag_context", {"query": "cart", "session": "../../etc"}, "session: String should match pattern"),
    ("coderag_status", {"repository": "/"}, "outside the allowed folders"),
    ("coderag_status", {"repository": "/no/such/folder"}, "does not exist"),
]


@pytest.mark.parametrize(("name", "arguments", "told"), WRONG)
async def test_mistake_is_told_with_what_to_do(shop, name, arguments, told):
    async with connected(shop) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert told in text_of(result)
    assert "Traceback" not in text_of(result)
    assert result.structured_content is None


async def test_fault_is_logged_and_its_text_is_not_shown(shop, caplog, monkeypatch):
    def break_down(*_, **__):
        raise RuntimeError("secret inner state")

    monkeypatch.setattr(shop.engine, "search", break_down)
    with caplog.at_level(logging.ERROR):
        async with connected(shop) as client:
            result = await client.call_tool("coderag_search", {"query": "cart"})
    assert result.is_error
    assert "secret inner state" not in text_of(result)
    assert "coderag_search" in text_of(result)
    assert "secret inner state" in caplog.text


def test_all_candidates_of_a_name_are_counted():
    many = [GraphDeclaration(f"a{number}.py::run", "run", "function", f"a{number}.py", 1, 2) for number in range(20)]
    told = format_error(AmbiguousNameError("'run' is the name of 20 declarations", candidates=many))
    assert "`a0.py::run` (function, a0.py:1-2)" in told
    assert "and 8 more" in told


def test_missing_index_names_the_tool_that_makes_it():
    assert "coderag_index" in format_error(IndexNotFoundError("nothing is indexed", hint="Run `coderag index`."))


def test_error_that_may_pass_says_so():
    assert "may work in a moment" in format_error(ModelUnavailableError("no answer", hint="Start it."))
