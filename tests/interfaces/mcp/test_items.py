"""Pages and tickets over MCP."""

import pytest

from coderag.workspace.source_hints import may_have_source
from tests.interfaces.mcp.conftest import connected, data_of, text_of
from tests.interfaces.mcp.fake_workspace import FakeRepository
from tests.interfaces.mcp.test_tool_list import list_names
from tests.support.mirrors import build_shop, mirror_items

SETTINGS = "sources:\n  tracker:\n    system: {system}\n    address: https://example.atlassian.net\n    {scope}\n"


@pytest.fixture(scope="module")
def items_shop(tmp_path_factory):
    with build_shop(tmp_path_factory.mktemp("mcp") / "shop") as rag:
        yield FakeRepository(rag, "shop")


async def call(repository, name, **arguments):
    async with connected(repository) as client:
        return await client.call_tool(name, arguments)


async def test_backlog_search_returns_tickets_with_address_and_revision(items_shop):
    result = await call(items_shop, "coderag_backlog", query="who wants to pay by invoice")
    first = data_of(result)["items"][0]
    assert (first["id"], first["revision"], first["status"]) == ("SHOP-46", "3", "Open")
    assert "https://example.atlassian.net/browse/SHOP-46" in text_of(result)
    assert {entry["id"] for entry in data_of(result)["items"]} <= {"SHOP-45", "SHOP-46"}


async def test_backlog_reads_one_ticket_with_what_it_names(items_shop):
    result = await call(items_shop, "coderag_backlog", id="shop-45")
    assert "Customers complain" in text_of(result)
    assert {"name": "round_up", "kind": "function", "path": "shop/money.py", "line": 1} in data_of(result)["references"]


async def test_backlog_lists_tickets_by_filters(items_shop):
    result = await call(items_shop, "coderag_backlog", types="Story", tags=["billing"])
    assert [entry["id"] for entry in data_of(result)["items"]] == ["SHOP-46"]
    assert data_of(result)["total"] == 1
    paged = await call(items_shop, "coderag_backlog", limit=1)
    assert "More: offset=1." in text_of(paged)


async def test_docs_have_pages_beside_the_documents(items_shop):
    result = await call(items_shop, "coderag_docs", query="how is a broken deployment undone")
    assert data_of(result)["items"][0]["id"] == "101"
    assert "previous container image" in text_of(result)
    assert data_of(result)["evidence"] == "found"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "SHOP-99"}, "there is no item 'SHOP-99'"),
        ({"query": "invoice", "types": ["Epic"]}, "There are: Bug, Story"),
        ({"query": "invoice", "limit": 0}, "limit"),
        ({"id": "SHOP-45", "page": 3}, "has no page 3"),
        ({"ids": ["SHOP-45"]}, "ids"),
    ],
)
async def test_bad_arguments_are_errors_that_say_what_is_wrong(items_shop, arguments, message):
    result = await call(items_shop, "coderag_backlog", **arguments)
    assert result.is_error
    assert message in text_of(result)


async def test_hidden_characters_of_a_ticket_are_shown(tmp_path):
    from dataclasses import replace

    from tests.support.mirrors import TICKETS

    with build_shop(tmp_path / "shop") as rag:
        mirror_items(rag.root, "tracker", [replace(TICKETS[1], text="Pay by invoice\u202e now\U000e0041.\n")])
        result = await call(FakeRepository(rag, "shop"), "coderag_backlog", id="SHOP-46")
    assert "\u202e" not in text_of(result)
    assert "\U000e0041" not in text_of(result)


@pytest.mark.parametrize(
    ("system", "scope", "expected"),
    [
        ("jira", "projects: [SHOP]", {"coderag_backlog"}),
        ("confluence", "spaces: [DOC]", {"coderag_docs"}),
    ],
)
async def test_tools_are_listed_by_the_sources_of_a_trusted_folder(tmp_path, monkeypatch, system, scope, expected):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / ".coderag.yaml").write_text(SETTINGS.format(system=system, scope=scope))
    monkeypatch.setattr("coderag.config.trust.is_trusted", lambda _: False)
    assert not {"coderag_backlog", "coderag_docs"} & await list_names(tmp_path)
    monkeypatch.setattr("coderag.config.trust.is_trusted", lambda _: True)
    assert {"coderag_backlog", "coderag_docs"} & await list_names(tmp_path) == expected


def test_invalid_settings_list_no_tool(tmp_path, monkeypatch):
    monkeypatch.setattr("coderag.config.trust.is_trusted", lambda _: True)
    (tmp_path / ".coderag.yaml").write_text("sources: 5\n")
    assert may_have_source(tmp_path, "backlog") is False
