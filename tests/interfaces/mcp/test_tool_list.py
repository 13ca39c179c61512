"""List of tools: those that can do something in the repository of the session."""

import pytest
from mcp import Client

from coderag.interfaces.mcp.documents import may_have_documents
from coderag.interfaces.mcp.server import make_server
from tests.interfaces.mcp.fake_workspace import FakeWorkspace


async def list_names(root):
    async with Client(make_server(FakeWorkspace(), default_root=root)) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


async def test_documents_are_searched_only_where_there_are_some(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    assert "coderag_docs" not in await list_names(tmp_path)
    (tmp_path / "README.md").write_text("# A\n")
    assert "coderag_docs" in await list_names(tmp_path)


async def test_history_is_asked_only_of_a_git_working_tree(tmp_path):
    assert "coderag_history" not in await list_names(tmp_path)
    (tmp_path / ".git").mkdir()
    assert "coderag_history" in await list_names(tmp_path)


async def test_all_tools_are_listed_if_the_calls_name_their_repository():
    assert "coderag_docs" in await list_names(None)


@pytest.mark.parametrize(
    ("path", "expected"), [("guide/intro.rst", True), ("node_modules/a/README.md", False), (".git/README.md", False)]
)
def test_documents_count_outside_of_hidden_and_installed_folders(tmp_path, path, expected):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("text\n")
    assert may_have_documents(tmp_path) is expected
