"""Resources, their notices, completion."""

import json

import anyio
import pytest
from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from coderag.interfaces.mcp.repository_map import DEFAULT_MAP_TOKENS
from coderag.text.token_counts import count_tokens
from tests.interfaces.mcp.conftest import connected

DEADLINE_S = 20

READ = [
    ("coderag://repositories", "application/json", '"name": "shop"'),
    ("coderag://shop/status", "application/json", '"indexed": true'),
    ("coderag://shop/map", "text/markdown", "shop/pricing.py"),
    (
        "coderag://shop/outline/shop/cart.py",
        "text/markdown",
        "class Cart 8-20: __init__ 11-12, add 14-16, checkout 18-20",
    ),
    ("coderag://shop/symbol/total_price", "text/markdown", "def total_price"),
    ("coderag://shop/symbol/shop%2Fcart.py%3A%3Aclose", "text/markdown", "Close the cart."),
]


async def read(client, uri):
    (content,) = (await client.read_resource(uri)).contents
    return content


@pytest.mark.parametrize(("uri", "mime_type", "told"), READ)
async def test_resource_is_read(shop, era, uri, mime_type, told):
    async with connected(shop, era=era) as client:
        content = await read(client, uri)
    assert content.mime_type == mime_type
    assert told in content.text


async def test_json_resources_are_json(shop):
    async with connected(shop) as client:
        assert json.loads((await read(client, "coderag://shop/status")).text)["repository"] == "shop"
        assert json.loads((await read(client, "coderag://repositories")).text)[0]["root"] == str(shop.root)


async def test_each_known_repository_is_listed_with_status_and_map(shop, huge):
    async with connected(shop, huge) as client:
        listed = {str(one.uri) for one in (await client.list_resources()).resources}
        templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
    expected = {f"coderag://{name}/{part}" for name in ("shop", "huge") for part in ("status", "map")}
    assert listed == {"coderag://repositories", *expected}
    assert "coderag://{repository}/outline/{+path}" in templates


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("coderag://shop/outline/nothing.py", "nothing.py is not in the index"),
        ("coderag://shop/symbol/total_prise", "Did you mean `total_price`"),
        ("coderag://shop/outline/../../etc/passwd", ""),
        ("coderag://elsewhere/map", "does not exist"),
    ],
)
async def test_missing_resource_is_told(shop, uri, told):
    async with connected(shop) as client:
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri)
    assert told in str(error.value)


async def test_map_of_a_huge_repository_has_its_size(huge):
    async with connected(huge) as client:
        text = (await read(client, "coderag://huge/map")).text
    assert count_tokens(text) <= DEFAULT_MAP_TOKENS
    assert "big/target.py" in text


async def test_outline_of_a_huge_file_is_cut(huge):
    async with connected(huge) as client:
        text = (await read(client, "coderag://huge/outline/big/callers.py")).text
    assert len(text) <= 24_000
    assert text.endswith("(cut; coderag_explain has it by parts)")


async def test_new_client_hears_of_a_new_index(shop):
    uri = "coderag://shop/outline/shop/cart.py"
    async with connected(shop) as client, client.listen(resource_subscriptions=[uri]) as events:
        await client.call_tool("coderag_status")
        client.workspace.notify("generation", shop.root)
        with anyio.fail_after(DEADLINE_S):
            async for event in events:
                assert event.uri == uri
                break


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # it is what is tested
async def test_old_client_hears_of_what_it_subscribed_to(shop):
    heard, arrived = [], anyio.Event()

    async def listen(message):
        method = getattr(message, "method", "")
        if method == "notifications/resources/updated":
            heard.append(str(message.params.uri))
            arrived.set()

    async with connected(shop, era="legacy", message_handler=listen) as client:
        await client.call_tool("coderag_status")
        await client.session.subscribe_resource("coderag://shop/map")
        client.workspace.notify("edited", shop.root)
        client.workspace.notify("generation", shop.root)
        with anyio.fail_after(DEADLINE_S):
            await arrived.wait()
        await client.session.unsubscribe_resource("coderag://shop/map")
        client.workspace.notify("generation", shop.root)
        await client.call_tool("coderag_status")
    assert heard == ["coderag://shop/map"]


async def test_client_hears_that_there_is_another_repository(shop, huge):
    arrived = anyio.Event()

    async def listen(message):
        if getattr(message, "method", "") == "notifications/resources/list_changed":
            arrived.set()

    async with connected(shop, huge, era="legacy", message_handler=listen) as client:
        await client.call_tool("coderag_status", {"repository": "huge"})
        with anyio.fail_after(DEADLINE_S):
            await arrived.wait()


async def test_workspace_is_not_listened_to_when_all_clients_have_gone(shop):
    async with connected(shop) as client:
        await client.call_tool("coderag_status")
        workspace = client.workspace
        assert len(workspace.listeners) == 1
    assert workspace.listeners == []


@pytest.mark.parametrize(
    ("template", "argument", "value", "found"),
    [
        ("coderag://{repository}/outline/{+path}", "path", "cart", ["shop/cart.py", "tests/test_cart.py"]),
        ("coderag://{repository}/symbol/{name}", "name", "total", ["total_price"]),
        ("coderag://{repository}/map", "repository", "s", ["shop"]),
        ("coderag://{repository}/map", "unknown", "s", []),
    ],
)
async def test_completion(shop, era, template, argument, value, found):
    async with connected(shop, era=era) as client:
        reference = ResourceTemplateReference(uri=template)
        result = await client.complete(
            reference, {"name": argument, "value": value}, context_arguments={"repository": "shop"}
        )
    assert result.completion.values == found


async def test_completion_of_a_prompts_path(shop):
    async with connected(shop) as client:
        reference = PromptReference(name="explain_module")
        result = await client.complete(reference, {"name": "path", "value": "shop/pr"})
    assert result.completion.values == ["shop/pricing.py"]
