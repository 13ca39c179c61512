"""Every tool over a real index, for clients of both generations of the protocol."""

import json

import pytest

from coderag.app import CodeRAG
from coderag.workspace.results import KnownRepository
from tests.interfaces.mcp.conftest import connected, data_of, text_of
from tests.interfaces.mcp.fake_workspace import FakeRepository
from tests.support.changed_repository import make_repository, write_files
from tests.support.hostile_git import run_plainly

CALLS = [
    ("coderag_search", {"query": "how is the price lowered"}),
    ("coderag_search", {"query": "total_price(", "mode": "exact"}),
    ("coderag_search", {"query": r"def \w+_price", "mode": "regex"}),
    ("coderag_context", {"query": "how does checkout work", "include_tests": True}),
    ("coderag_context", {"file_path": "shop/pricing.py"}),
    ("coderag_explain", {"file_path": "shop/cart.py", "detail_level": "detailed"}),
    ("coderag_explain", {"name": "Cart.checkout"}),
    ("coderag_symbol", {"name": "total_price", "relations": ["definition", "callers", "callees", "tests", "impact"]}),
    ("coderag_docs", {"query": "how to install the shop"}),
    ("coderag_symbol", {"name": "HalfPrice", "relations": ["subclasses", "references"]}),
    ("coderag_symbol", {"name": "shop", "relations": ["unused"]}),
    ("coderag_status", {}),
    ("coderag_index", {}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_every_tool_replies_in_text_with_its_data_beside_it(shop, era, name, arguments):
    async with connected(shop, era=era) as client:
        result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    assert text_of(result)
    assert result.structured_content is None
    assert data_of(result)["repository"] == "shop"


@pytest.mark.parametrize(("name", "arguments"), CALLS[:9])
async def test_text_and_data_have_the_same_places(shop, name, arguments):
    async with connected(shop) as client:
        result = await client.call_tool(name, arguments)
    text, data = text_of(result), data_of(result)
    places = [one for found in data.values() if isinstance(found, list) for one in found if isinstance(one, dict)]
    assert places
    for place in places:
        for fact in ("name", "code"):
            assert place.get(fact, "").rpartition("." if "depth" in place else "\0")[2] in text  # below its owner
        if "path" in place and "depth" not in place:  # an outline is of one file
            assert place["path"] in text


async def test_search_finds_the_declaration(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_search", {"query": "how is the price lowered by half"})
    assert "HalfPrice" in data_of(result)["results"][0]["name"]
    assert data_of(result)["evidence"] == "found"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("coderag_search", {}),
        ("coderag_search", {"repository": ["shop", "huge"]}),
        ("coderag_context", {}),
    ],
)
async def test_replies_say_what_a_german_question_was_read_as(shop, huge, tool, arguments):
    async with connected(shop, huge) as client:
        result = await client.call_tool(tool, {"query": "Wo wird der Preis halbiert und gerundet?", **arguments})
    assert "the question is in German, searched for: price" in text_of(result)
    assert any(note.startswith("the question is in German") for note in data_of(result)["notes"])


async def test_search_takes_filters(shop):
    async with connected(shop) as client:
        given = {"query": "cart", "file_path": "tests", "language": "Python", "chunk_type": "function"}
        result = await client.call_tool("coderag_search", given)
    assert {one["path"] for one in data_of(result)["results"]} == {"tests/test_cart.py"}


async def test_search_in_several_repositories_names_them(shop, huge):
    async with connected(shop, huge) as client:
        result = await client.call_tool("coderag_search", {"query": "target price", "repository": ["shop", "huge"]})
    assert {one["repository"] for one in data_of(result)["results"]} == {"shop", "huge"}
    assert "shop/shop/pricing.py" in text_of(result)


async def test_context_without_tests_has_none_as_related_code(shop):
    async with connected(shop) as client:
        with_tests = await client.call_tool("coderag_context", {"query": "Cart.checkout", "include_tests": True})
        without = await client.call_tool("coderag_context", {"query": "Cart.checkout"})
    relations = [one.get("relation") for one in data_of(without).get("related", [])]
    assert "test_for" not in relations
    shown = json.dumps(data_of(with_tests))
    assert "test_checkout_takes_half" in shown


async def test_context_of_a_session_shows_nothing_twice(shop):
    async with connected(shop) as client:
        given = {"query": "how does checkout work", "session": "one"}
        first = data_of(await client.call_tool("coderag_context", given))
        second = data_of(await client.call_tool("coderag_context", given))
    codes = [one["code"] for one in first["results"] if "detail" not in one]
    assert codes
    assert not set(codes) & {one.get("code") for one in second["results"]}


async def test_file_is_read_by_a_path_from_the_root_of_the_machine(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_context", {"file_path": f"{shop.root}/shop/pricing.py:14-19"})
    assert "class HalfPrice" in text_of(result)
    assert "def total_price" not in text_of(result)


async def test_symbol_lists_callers_with_the_line_of_the_call(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_symbol", {"name": "total_price", "relations": ["callers"]})
    (caller,) = data_of(result)["neighbours"]
    assert (caller["name"], caller["evidence"]) == ("Cart.checkout", "shop/cart.py:20")
    assert data_of(result)["counts"] == {"callers": 1}


async def test_symbol_lists_the_lines_that_mention_a_name_without_edges(shop):
    async with connected(shop) as client:
        result = await client.call_tool(
            "coderag_symbol", {"name": "HalfPrice", "relations": ["subclasses", "references"]}
        )
    text, data = text_of(result), data_of(result)
    assert "None known" not in text
    assert "No edge could be resolved." in text
    assert data["counts"]["mentions"] == len(data["mentions"]) > 0
    assert all(f"{one['path']}:{one['start_line']}" in text for one in data["mentions"])


async def test_symbol_lists_unused_code_of_a_folder(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_symbol", {"name": "shop", "relations": ["unused"]})
    assert data_of(result)["counts"]["unused"] == len(data_of(result)["unused"])
    assert "cannot prove" in text_of(result)


async def test_numbers_of_neighbours_are_written_as_people_write_them(shop):
    relations = ["callers", "callees", "tests", "impact", "bases"]
    async with connected(shop) as client:
        given = {"name": "total_price", "relations": relations, "limit": 1, "depth": 2}
        symbol = await client.call_tool("coderag_symbol", given)
        explained = await client.call_tool("coderag_explain", {"name": "Cart"})
    for heading in ("## callers (3)", "## callees (1)", "## impact (3)"):
        assert heading in text_of(symbol)
    assert "Left out: 2 more callers, 2 more of impact. Next: a higher limit." in text_of(symbol)
    assert "1 callers" not in text_of(explained)


async def test_explanation_names_only_arguments_that_it_has(huge):
    async with connected(huge) as client:
        brief = await client.call_tool("coderag_explain", {"name": "target"})
        schema = next(tool for tool in (await client.list_tools()).tools if tool.name == "coderag_explain").input_schema
    (note,) = (note for note in data_of(brief)["notes"] if "more" in note)
    assert "limit" not in schema["properties"]
    assert note == "Left out: 1495 more callers. Next: detail_level detailed shows up to 20 of each."


async def test_explanation_says_each_thing_once(shop):
    async with connected(shop) as client:
        text = text_of(await client.call_tool("coderag_explain", {"name": "total_price"}))
    assert text.count("what all things cost together") == 1


async def test_results_that_do_not_answer_have_no_next_page(shop):
    async with connected(shop) as client:
        unknown = await client.call_tool("coderag_search", {"query": "xyzzy frobnicate quantum", "top_k": 1})
        known = await client.call_tool("coderag_search", {"query": "total_price", "top_k": 1})
    assert data_of(unknown)["evidence"] == "not_found"
    assert "offset" not in text_of(unknown)
    assert "offset=1" in text_of(known)


async def test_nothing_behind_filters_is_told_as_that(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_search", {"query": "cart", "changed_since": "HEAD"})
    assert data_of(result)["results"] == []
    assert "they let nothing through" in text_of(result)


async def test_symbol_lists_what_implements_a_type(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_symbol", {"name": "Discount", "relations": "implementations"})
    assert [one["name"] for one in data_of(result)["neighbours"]] == ["HalfPrice"]


async def test_explanation_of_a_file_names_its_declarations_and_their_members(shop):
    async with connected(shop) as client:
        brief = await client.call_tool("coderag_explain", {"file_path": "shop/cart.py"})
    assert {one["name"]: one["depth"] for one in data_of(brief)["outline"]} == {
        "TOKEN": 0, "Cart": 0, "Cart.__init__": 1, "Cart.add": 1, "Cart.checkout": 1, "close": 0
    }  # fmt: skip
    assert "class Cart 8-20: __init__ 11-12, add" in text_of(brief)


async def test_documents_come_before_code(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_docs", {"query": "discount lowers the price", "top_k": 2})
    assert data_of(result)["results"][0]["path"] == "docs/discounts.md"


async def test_status_tells_what_was_skipped(shop):
    async with connected(shop) as client:
        result = await client.call_tool("coderag_status")
    assert data_of(result)["skipped"] == {"binary file": 1}
    assert data_of(result)["languages"]["python"] == 4
    assert data_of(result)["fresh"] is True


async def test_status_during_a_run_says_which_index_answers(shop):
    shop.on_index = lambda repository: repository.progress("chunk", 1, 2)
    async with connected(shop) as client:
        shop.index()
        text = text_of(await client.call_tool("coderag_status"))
        shop.finish()
        ended = text_of(await client.call_tool("coderag_status"))
    assert "running, indexing: 32 %" in text
    assert "the index that answers until the job ends: fresh" in text
    assert "\nfresh" in ended


async def test_status_of_one_repository_is_not_a_list_of_the_others(shop, monkeypatch):
    many = [KnownRepository(f"other-{number}", f"/long/path/to/other-{number}", "", True, True) for number in range(40)]
    async with connected(shop) as client:
        monkeypatch.setattr(client.workspace, "list_repositories", lambda: many)
        result = await client.call_tool("coderag_status")
    assert data_of(result)["repositories"] == [f"other-{number}" for number in range(10)]
    assert "other-9, and 30 more in the resource coderag://repositories." in text_of(result)
    assert "/long/path" not in text_of(result)


async def test_secrets_are_not_in_replies(shop):
    async with connected(shop) as client:
        for name, arguments in (
            ("coderag_context", {"file_path": "shop/cart.py"}),
            ("coderag_search", {"query": "TOKEN =", "mode": "exact"}),
        ):
            result = await client.call_tool(name, arguments)
            assert "ghp_0123456789" not in text_of(result) + json.dumps(data_of(result))
            assert "[secret removed:" in text_of(result)


async def test_hidden_characters_are_spelt_out_and_fences_hold(shop):
    async with connected(shop) as client:
        text = text_of(await client.call_tool("coderag_context", {"file_path": "shop/orders.py"}))
    assert "\u202e" not in text
    assert "<U+202E>" in text
    assert "\n`````python\n" in text  # longer than any in the code


async def test_single_profile_has_one_tool_that_answers(shop, era):
    async with connected(shop, era=era, profile="single") as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("search_codebase", {"query": "how does checkout work"})
    assert [tool.name for tool in tools] == ["search_codebase"]
    assert "def checkout" in text_of(result)


async def test_edited_file_is_shown_as_it_is_on_disk(tmp_path):
    (tmp_path / "a.py").write_text("def greet():\n    return 'hello'\n")
    engine = CodeRAG(tmp_path, ingestion={"workers": 0})
    engine.index()
    repository = FakeRepository(engine, "edited")
    async with connected(repository) as client:
        (tmp_path / "a.py").write_text("def greet():\n    return 'good day'\n")
        result = await client.call_tool("coderag_search", {"query": "good day", "mode": "exact"})
    assert data_of(result)["total"] == 1


async def test_diff_lists_dependents_and_the_tests_to_run(tmp_path):
    root = make_repository(tmp_path / "shop")
    cart = (root / "shop/cart.py").read_text()
    write_files(root, {"shop/cart.py": cart.replace("def add_up(prices):", "def add_up(prices, start):")})
    with CodeRAG(root, ingestion={"workers": 0}) as engine:
        engine.index()
        async with connected(FakeRepository(engine, "shop")) as client:
            result = await client.call_tool("coderag_diff", {})
            patch = run_plainly(root, "diff").decode()
            patched = await client.call_tool("coderag_diff", {"change": patch})
            unknown = await client.call_tool("coderag_diff", {"change": "no-such-branch"})
    text = text_of(result)
    assert "- shop/cart.py:15 signature changed: function `add_up`" in text
    assert "  - shop/cart.py:12 caller" in text
    assert data_of(result)["tests"][0]["name"] == "tests/test_cart.py::test_add_up"
    assert data_of(patched)["target"] == "patch"
    assert unknown.is_error
    assert "unknown git revision 'no-such-branch'" in text_of(unknown)
