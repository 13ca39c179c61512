"""``coderag sources search`` and ``show``."""

import json

import pytest
import typer
from typer.testing import CliRunner

from coderag.config import trust
from coderag.errors import UnknownNameError
from coderag.interfaces.cli.commands.sources.items import add_item_commands
from tests.support.mirrors import build_shop

SETTINGS = (
    "sources:\n  wiki:\n    system: files\n    path: wiki\n"
    "  tracker:\n    system: jira\n    address: https://example.atlassian.net\n    user: a@b.example\n    projects: [SHOP]\n"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = tmp_path_factory.mktemp("cli") / "shop"
    root.mkdir()
    (root / ".coderag.yaml").write_text(SETTINGS)
    build_shop(root).close()
    return root


@pytest.fixture
def sources(shop, monkeypatch):
    monkeypatch.setattr(trust, "is_trusted", lambda _: True)
    group = typer.Typer()
    add_item_commands(group)

    def run(*arguments):
        return CliRunner().invoke(group, [*arguments, "-C", str(shop)])

    return run


def test_search_prints_items_with_section_and_place(sources):
    result = sources("search", "how", "is", "a", "broken", "deployment", "undone")
    lines = result.stdout.split("\n")
    assert lines[0].startswith("wiki  101  Deployment handbook  (page, revision 7)")
    assert lines[1].strip() == "https://wiki.example/101"
    assert lines[2].strip().startswith("Rolling back a release  .coderag/sources/files/wiki/page/deployment-handbook--")


def test_search_as_json_takes_filters(sources):
    result = sources("search", "customers", "--type", "Story", "--tag", "billing", "--json")
    reply = json.loads(result.stdout)
    assert [hit["item"]["id"] for hit in reply["hits"]] == ["SHOP-46"]


def test_search_without_a_question_lists(sources):
    result = sources("search", "--scope", "backlog", "--until", "2026-03-01")
    assert result.stdout == "tracker  SHOP-45  Totals are a cent too low  (Bug, Done, revision 2026-02-01T10:00)\n"


def test_show_prints_text_and_names(sources):
    result = sources("show", "SHOP-45")
    assert result.stdout.startswith("# Totals are a cent too low")
    assert "  method Cart.total  shop/cart.py:5" in result.stdout


def test_unknown_id_is_an_error(sources):
    assert isinstance(sources("show", "SHOP-99").exception, UnknownNameError)


def test_sync_indexes_the_items_only_if_some_have_changed(coderag, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("# Kettle\n\nDescale it.\n")
    assert coderag("sources", "add", "handbook", "files", "path=docs").exit_code == 0
    for _ in range(2):
        assert coderag("sources", "sync").exit_code == 0
        assert coderag.calls == [("index items", None)]
