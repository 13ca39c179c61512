"""Replies have what a question needs, once."""

import pytest

from coderag.interfaces.mcp.arguments import ContextArguments
from tests.interfaces.mcp.conftest import connected, data_of, text_of


async def test_search_result_has_the_exact_lines_of_its_declaration(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_search", {"query": "total_price"})
    first = data_of(result)["results"][0]
    assert (first["path"], first["start_line"], first["end_line"]) == ("shop/pricing.py", 22, 24)
    assert text_of(result).startswith("1. shop/pricing.py:22-24 total_price\n")


async def test_first_result_has_its_callers_and_callees_as_bare_places(shop):
    async with connected(shop) as client:
        text = text_of(await client.call_tool("coderag_search", {"query": "total_price"}))
    assert "called by shop/cart.py: Cart.checkout 18-20" in text
    assert "24: return sum(discount.apply(price) for price in prices)" in text.replace("    return", "return")


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("mode", ["hybrid", "exact", "regex"])
async def test_number_of_lines_is_that_asked_for_in_every_mode(shop, mode, lines):
    async with connected(shop) as client:
        given = {"query": "price", "mode": mode, "snippet_lines": lines}
        result = await client.call_tool("coderag_search", given)
    blocks, rows = 0, 0
    for row in text_of(result).splitlines():
        if row.startswith("  ") and row.strip().split(":")[0].isdigit():
            rows += 1
            assert rows <= lines
        else:
            blocks, rows = blocks + 1, 0
    assert blocks > 1


async def test_two_matches_on_a_line_are_one_below_their_declaration(shop):
    async with connected(shop) as client:
        result = await client.call_tool(
            "coderag_search", {"query": "price", "mode": "exact", "file_path": "shop/pricing.py"}
        )
    text = text_of(result)
    assert text.count("24: ") == 1
    assert "shop/pricing.py:22-24 total_price" in text
    match = next(one for one in data_of(result)["results"] if one["start_line"] == 24)
    assert match["name"] == "total_price"


async def test_several_questions_in_one_call_show_a_place_once(shop):
    async with connected(shop) as client:
        given = {"query": ["total_price", "what do all things cost together"]}
        result = await client.call_tool("coderag_search", given)
    text = text_of(result)
    assert "## 1. total_price" in text
    assert "## 2. what do all things cost together" in text
    assert "shown above: shop/pricing.py:22-24" in text
    assert text.count("def total_price") == 1
    assert len(data_of(result)["queries"]) == 2


async def test_several_names_in_one_call_answer_though_one_is_unknown(shop):
    async with connected(shop) as client:
        given = {"name": ["total_price", "Cart.checkout", "no_such_thing"], "relations": ["callers"]}
        result = await client.call_tool("coderag_symbol", given)
    assert not result.is_error
    names = [one["name"].rpartition("::")[2] for one in data_of(result)["symbols"]]
    assert names == ["total_price", "Cart.checkout"]
    assert "no_such_thing" in text_of(result)


async def test_ambiguous_name_answers_with_one_declaration_and_names_the_others(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_symbol", {"name": "close", "relations": ["definition"]})
    assert not result.is_error
    (definition,) = data_of(result)["definitions"]
    others = {"shop/cart.py", "shop/orders.py"} - {definition["path"]}
    assert f"also: {others.pop()}::close" in text_of(result)


async def test_path_lists_the_calls_from_one_declaration_to_another(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_symbol", {"name": "place_order", "path_to": "total_price"})
    assert [one["name"] for one in data_of(result)["neighbours"]] == ["Cart.checkout", "total_price"]
    assert "## path (2)" in text_of(result)


async def test_path_that_is_not_known_says_how_far_calls_go_and_what_reaches_the_end(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_symbol", {"name": "Cart.add", "path_to": "total_price"})
    text, data = text_of(result), data_of(result)
    assert "No path is known from Cart.add to total_price" in text
    assert "No call from Cart.add is known to stay in this repository." in text
    assert "## callers of the end\nshop/cart.py:18-20 Cart.checkout" in text
    assert {"path": "shop/cart.py", "name": "Cart.checkout", "side": "callers of the end"}.items() <= data["gap"][
        -1
    ].items()


async def test_path_that_is_known_the_other_way_round_says_so(shop):
    async with connected(shop) as client:
        text = text_of(await client.call_tool("coderag_symbol", {"name": "total_price", "path_to": "place_order"}))
    assert "The other way is known: path_to from place_order to total_price has 2 steps." in text


async def test_long_definition_is_one_place(huge):
    async with connected(huge) as client:
        given = {"name": "target", "relations": ["definition"], "max_tokens": 20_000}
        result = await client.call_tool("coderag_symbol", given)
    places = [(one["start_line"], one["end_line"]) for one in data_of(result)["definitions"]]
    assert len(places) == 1


async def test_long_definition_in_few_tokens_keeps_its_end(huge):
    async with connected(huge) as client:
        given = {"name": "target", "relations": ["definition"], "max_tokens": 1_000}
        result = await client.call_tool("coderag_symbol", given)
    (definition,) = data_of(result)["definitions"]
    assert (definition["start_line"], definition["end_line"], definition["detail"]) == (1, 904, "elided")
    assert "    return total" in text_of(result)
    assert "… " in text_of(result)


@pytest.mark.parametrize(
    ("arguments", "tokens"),
    [
        ({"query": "what lowers the price", "max_tokens": 8_000}, 8_000),
        ({"query": "word " * 500}, 3_000),
        ({"file_path": "shop/cart.py"}, 3_000),
    ],
)
def test_context_is_as_large_as_asked_for_else_no_larger_than_other_replies(arguments, tokens):
    assert ContextArguments(**arguments).reply_tokens == tokens


def test_short_question_gets_a_shorter_context():
    assert ContextArguments(query="what lowers the price").reply_tokens < 1_500


async def test_tools_without_a_source_are_not_listed(shop):
    async with connected(shop) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {
        f"coderag_{one}"
        for one in ("search", "context", "explain", "symbol", "diff", "history", "docs", "status", "index")
    }
