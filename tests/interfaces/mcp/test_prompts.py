"""Prompts come with the facts in them."""

import pytest
from mcp import MCPError

from coderag.app import CodeRAG
from coderag.interfaces.mcp.replies import MAX_REPLY_CHARS
from tests.interfaces.mcp.conftest import SHOP, connected, git, write_files
from tests.interfaces.mcp.fake_workspace import FakeRepository

TRACE = """Traceback (most recent call last):
  File "/srv/app/shop/orders.py", line 12, in place_order
    return cart.checkout(None)
  File "/srv/app/shop/pricing.py", line 24, in <genexpr>
    return sum(discount.apply(price) for price in prices)
AttributeError: 'NoneType' object has no attribute 'apply'
"""


async def prompt(client, name, **arguments):
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert len(message.content.text) <= MAX_REPLY_CHARS
    return message.content.text


async def test_prompts_are_listed_with_their_arguments(shop, era):
    async with connected(shop, era=era) as client:
        listed = {
            one.name: [argument.name for argument in one.arguments] for one in (await client.list_prompts()).prompts
        }
    assert set(listed) == {"explain_module", "impact_of_my_diff", "onboard_me", "find_the_bug"}
    assert listed["impact_of_my_diff"] == ["base", "repository"]


async def test_module_is_explained_with_outline_and_code(shop, era):
    async with connected(shop, era=era) as client:
        text = await prompt(client, "explain_module", path="shop/pricing.py")
    assert "importers" in text
    assert "def total_price" in text


async def test_unknown_module_is_an_error_with_a_hint(shop):
    async with connected(shop) as client:
        with pytest.raises(MCPError, match=r"Did you mean `shop/pricing\.py`"):
            await prompt(client, "explain_module", path="shop/prising.py")


async def test_newcomer_gets_map_and_documents(shop):
    async with connected(shop) as client:
        text = await prompt(client, "onboard_me")
    assert "# Map of shop" in text
    assert "A shop that sells things." in text


async def test_trace_is_followed_into_the_repository(shop):
    async with connected(shop) as client:
        text = await prompt(client, "find_the_bug", traceback=TRACE)
    calls = text[text.index("Calls in this repository") :].splitlines()
    assert [call.partition(": ")[0] for call in calls[1:3]] == ["- shop/pricing.py:24", "- shop/orders.py:12"]
    assert "total_price" in calls[1]
    assert "place_order" in calls[2]


async def test_report_without_a_trace_gets_code_all_the_same(shop):
    async with connected(shop) as client:
        text = await prompt(client, "find_the_bug", traceback="checkout returns the wrong price")
    assert "the trace names no file" in text
    assert "def checkout" in text


@pytest.fixture
def edited(tmp_path):
    write_files(tmp_path, SHOP)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    pricing = tmp_path / "shop/pricing.py"
    pricing.write_text(pricing.read_text().replace("price // 2", "price // 3"))
    (tmp_path / "shop/new.py").write_text("def fresh():\n    return 1\n")
    engine = CodeRAG(tmp_path, ingestion={"workers": 0})
    engine.index()
    return FakeRepository(engine, "edited")


async def test_diff_is_told_with_what_depends_on_it(edited):
    async with connected(edited) as client:
        text = await prompt(client, "impact_of_my_diff")
    assert "to working tree: 2 files, 2 declarations changed" in text
    assert "- shop/pricing.py:17 body changed: method `HalfPrice.apply`" in text
    assert "- shop/new.py:1 added: function `fresh`" in text
    assert "  - shop/pricing.py:24 caller" in text
    assert edited.started == 1  # the index is brought up to date first


async def test_diff_of_nothing_says_so(shop):
    async with connected(shop) as client:
        assert "No file of shop differs from HEAD" in await prompt(client, "impact_of_my_diff")


async def test_unknown_revision_is_an_error(shop):
    async with connected(shop) as client:
        with pytest.raises(MCPError, match="unknown git revision 'no-such-branch'"):
            await prompt(client, "impact_of_my_diff", base="no-such-branch")


async def test_filters_of_the_repository_are_not_run(edited, tmp_path):
    git(edited.root, "config", "filter.evil.clean", "touch ran; cat")
    git(edited.root, "config", "diff.evil.textconv", "touch ran; cat")
    (edited.root / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    async with connected(edited) as client:
        await prompt(client, "impact_of_my_diff")
    assert not (edited.root / "ran").exists()


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("explain_everything", {}, "There is no prompt 'explain_everything'. There are: explain_module"),
        ("explain_module", {}, "explain_module needs path"),
        ("onboard_me", {"path": "x"}, "onboard_me does not take path"),
    ],
)
async def test_a_prompt_that_there_is_not_is_refused_and_logged_as_no_fault(shop, caplog, era, name, arguments, told):
    async with connected(shop, era=era) as client:
        with pytest.raises(MCPError, match=told) as refused:
            await client.get_prompt(name, arguments)
    assert (refused.value.error.code, caplog.records) == (-32602, [])
