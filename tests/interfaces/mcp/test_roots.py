"""Which repository a call means."""

import pytest
from mcp import Client

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.notifications import NotificationBus
from coderag.interfaces.mcp.repositories import PROJECT_ENV_VARIABLE, Repositories
from coderag.interfaces.mcp.server import make_server
from tests.interfaces.mcp.conftest import connected, data_of
from tests.interfaces.mcp.fake_workspace import FakeWorkspace


async def opened(*known, given="", default=None, headers=None):
    repositories = Repositories(FakeWorkspace(*known), default, NotificationBus())
    return (await repositories.open(given, headers)).name


async def test_argument_goes_before_everything(shop, huge):
    assert await opened(shop, huge, given="huge", default=shop.root, headers={"x-coderag-root": "shop"}) == "huge"


async def test_folder_is_as_good_as_a_name(shop, huge):
    assert await opened(shop, huge, given=str(huge.root), default=shop.root) == "huge"


async def test_header_goes_before_what_is_known(shop, huge):
    assert await opened(shop, huge, headers={"x-coderag-root": str(huge.root)}) == "huge"


async def test_session_has_a_default(shop, huge):
    assert await opened(shop, huge, default=huge.root) == "huge"


async def test_only_known_repository_is_meant_over_http(shop):
    assert await opened(shop, headers={}) == "shop"


async def test_several_known_repositories_are_listed_over_http(shop, huge):
    with pytest.raises(InvalidQueryError) as error:
        await opened(shop, huge, headers={})
    assert "shop (" in error.value.hint
    assert "huge (" in error.value.hint


async def test_agent_says_its_project_by_the_environment(shop, huge, monkeypatch):
    monkeypatch.setenv(PROJECT_ENV_VARIABLE, str(huge.root))
    assert await opened(shop, huge) == "huge"


async def test_else_the_git_root_above_the_current_folder_is_meant(shop, huge, monkeypatch):
    monkeypatch.delenv(PROJECT_ENV_VARIABLE, raising=False)
    monkeypatch.chdir(shop.root / "shop")
    assert await opened(shop, huge) == "shop"


async def test_known_repositories_can_be_listed(shop, huge):
    async with connected(shop, huge) as client:
        result = await client.call_tool("coderag_status")
    assert [one.split()[0] for one in data_of(result)["repositories"]] == ["shop", "huge"]


async def test_client_of_no_repository_can_still_see_the_tools():
    async with Client(make_server(FakeWorkspace())) as client:
        assert len((await client.list_tools()).tools) == 9
