"""``coderag_history``: commits, people and co-changes for agents."""

import os
import subprocess

import pytest
from mcp import Client

from coderag.interfaces.mcp.server import make_server
from coderag.workspace.workspace import Workspace, WorkspaceOptions

AUTHOR = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "a@b.c",
    "GIT_COMMITTER_EMAIL": "a@b.c",
}


def git(root, *arguments):
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env={**os.environ, **AUTHOR})


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = tmp_path_factory.mktemp("history") / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Add the cart")
    (root / "cart.py").write_text("def total(items):\n    return round(sum(items), 2)\n")
    (root / "prices.py").write_text("DIGITS = 2\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Round totals\n\nCustoms refused fractions of a cent. Fixes SHOP-7")
    (root / "cart.py").write_text(
        "from prices import DIGITS\n\n\ndef total(items):\n    return round(sum(items), DIGITS)\n"
    )
    (root / "prices.py").write_text("DIGITS = 2  # of a currency\n")
    git(root, "commit", "-qam", "Name the digits of a currency")
    return root


@pytest.fixture(scope="module")
def workspace(shop):
    with Workspace(WorkspaceOptions(allowed_roots=(shop,), watch=False)) as opened:
        opened.open_repository(shop).index().wait(120)
        yield opened


async def ask(workspace, shop, **arguments):
    async with Client(make_server(workspace, default_root=shop)) as client:
        result = await client.call_tool("coderag_history", arguments)
    return result.content[0].text


async def test_declaration_has_its_commits_with_their_reasons(workspace, shop):
    text = await ask(workspace, shop, target="total")
    assert text.index("Round totals [SHOP-7]") < text.index("Add the cart")
    assert "Customs refused fractions of a cent." in text


async def test_ticket_has_the_declarations_of_its_commits(workspace, shop):
    text = await ask(workspace, shop, query="SHOP-7")
    assert "total (body)" in text
    assert "messages name it" in text


async def test_words_find_commits_by_their_messages(workspace, shop):
    text = await ask(workspace, shop, query="fractions customs")
    assert "Round totals" in text
    assert "Add the cart" not in text


async def test_co_changes_are_counts_and_no_dependency(workspace, shop):
    text = await ask(workspace, shop, target="cart.py", show="together")
    assert "prices.py: 2 of 3 commits" in text
    assert "no dependency" in text


async def test_people_and_blame_name_the_author_and_the_commit(workspace, shop):
    assert "Ada: 5 lines, 3 commits" in await ask(workspace, shop, target="cart.py", show="people")
    blame = await ask(workspace, shop, target="cart.py", show="blame")
    assert "cart.py:4 " in blame
    assert "Add the cart" in blame


async def test_unknown_target_says_what_to_do(workspace, shop):
    text = await ask(workspace, shop, target="no_such_name")
    assert "no_such_name" in text
    assert "coderag_search" in text


async def test_target_and_words_exclude_one_another(workspace, shop):
    assert "either target or query" in await ask(workspace, shop, target="cart.py", query="round")
