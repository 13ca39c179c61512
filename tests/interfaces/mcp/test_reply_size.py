"""No reply is larger than its limit, and what is left out is said."""

import json

import pytest

from coderag.interfaces.mcp.replies import MAX_DATA_CHARS, MAX_REPLY_CHARS, McpReply, ReplyPart
from coderag.text.token_counts import count_tokens
from tests.interfaces.mcp.conftest import connected, data_of, text_of

HUGE_CALLS = [
    ("coderag_search", {"query": "target", "top_k": 50, "snippet_lines": 80, "max_tokens": 24_000}),
    ("coderag_search", {"query": "target", "mode": "exact", "top_k": 50}),
    ("coderag_search", {"query": "def caller", "mode": "regex", "top_k": 50, "offset": 150}),
    ("coderag_context", {"query": "how is the target computed", "include_tests": True, "max_tokens": 24_000}),
    ("coderag_context", {"file_path": "big/target.py", "max_tokens": 24_000}),
    ("coderag_context", {"file_path": "big/callers.py", "max_tokens": 24_000}),
    ("coderag_context", {"file_path": "big/wide.py", "max_tokens": 24_000}),
    ("coderag_explain", {"file_path": "big/callers.py", "detail_level": "detailed", "max_tokens": 24_000}),
    ("coderag_explain", {"name": "target", "detail_level": "detailed", "max_tokens": 24_000}),
    (
        "coderag_symbol",
        {"name": "target", "relations": ["definition", "callers", "impact", "references"], "limit": 100, "depth": 5},
    ),
    ("coderag_docs", {"query": "target", "top_k": 20, "max_tokens": 24_000}),
    ("coderag_status", {}),
    ("coderag_index", {}),
]


@pytest.mark.parametrize(("name", "arguments"), HUGE_CALLS)
async def test_replies_about_a_huge_repository_keep_the_limit(huge, name, arguments):
    async with connected(huge) as client:
        result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    assert len(text_of(result)) <= MAX_REPLY_CHARS
    assert len(json.dumps(data_of(result), ensure_ascii=False)) <= MAX_DATA_CHARS + 4_000  # and notes


async def test_single_tool_keeps_the_limit(huge):
    async with connected(huge, profile="single") as client:
        result = await client.call_tool(
            "search_codebase", {"query": "how is the target computed", "max_tokens": 24_000}
        )
    assert len(text_of(result)) <= MAX_REPLY_CHARS


async def test_a_definition_that_is_not_shown_whole_says_so(huge):
    async with connected(huge) as client:
        given = {"name": "target", "relations": ["definition"], "max_tokens": 500}
        result = await client.call_tool("coderag_symbol", given)
    definition = data_of(result)["definitions"][0]
    assert definition["end_line"] - definition["start_line"] > definition["code"].count("\n")
    assert definition["detail"] in {"elided", "signature", "line"}


async def test_reply_is_as_short_as_asked(huge):
    async with connected(huge) as client:
        given = {"query": "how is the target computed", "max_tokens": 500}
        for name in ("coderag_context", "coderag_search", "coderag_docs"):
            assert (
                count_tokens(text_of(await client.call_tool(name, given))) <= 500 + 120
            )  # and what is said of the rest


async def test_what_is_left_out_is_said_with_the_call_that_fetches_it(huge):
    async with connected(huge) as client:
        given = {"query": "target", "top_k": 50, "snippet_lines": 80, "max_tokens": 1_000}
        result = await client.call_tool("coderag_search", given)
        shown = len(data_of(result)["results"])
        assert 0 < shown < 50
        assert f"{50 - shown} more left out" in text_of(result)
        assert f"offset={shown}" in text_of(result)
        assert any(f"offset={shown}" in note for note in data_of(result)["notes"])


def test_first_result_that_is_too_large_is_cut_at_a_line():
    code = "\n".join(f"line {number} of the code" for number in range(5_000))
    text, data = McpReply(parts=[ReplyPart("a.py:1-5000", [{"path": "a.py"}], code)]).render()
    (only,) = data["results"]
    shown = only["code"].split("\n")
    assert code.startswith(only["code"])
    assert len(shown) + only["lines_cut"] == 5_000
    assert f"cut: {len(shown)} of 5000 lines" in text


def test_line_that_is_too_long_is_cut_within_itself():
    text, data = McpReply(parts=[ReplyPart("a.js:1", [{"path": "a.js"}], "x" * 100_000)]).render()
    assert 0 < len(data["results"][0]["code"]) < 1_000
    assert len(text) < MAX_REPLY_CHARS


def test_notes_are_in_text_and_data():
    text, data = McpReply(intro=["hello"], notes=["Mind this."]).render()
    assert data["notes"] == ["Mind this."]
    assert text == "hello\nMind this."
