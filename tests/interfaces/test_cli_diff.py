"""``coderag diff``: text, JSON, Markdown, SARIF, commands, and errors with their exit codes."""

import json

import pytest
from typer.testing import CliRunner

from coderag.app import CodeRAG
from coderag.interfaces.cli.main import app
from tests.support.changed_repository import make_repository, write_files
from tests.support.hostile_git import run_plainly


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """An indexed shop with a changed signature in the working tree."""
    root = make_repository(tmp_path_factory.mktemp("diff") / "shop")
    with CodeRAG(root, ingestion={"workers": 0}) as rag:
        rag.index()
    cart = root / "shop" / "cart.py"
    write_files(root, {"shop/cart.py": cart.read_text().replace("def add_up(prices):", "def add_up(prices, start):")})
    return root


@pytest.fixture
def run(shop, monkeypatch):
    monkeypatch.chdir(shop)

    def invoke(*arguments, data=None):
        return CliRunner().invoke(app, ["diff", *arguments], input=data)

    return invoke


def test_text_has_signature_caller_test_and_command(run):
    result = run()
    assert result.exit_code == 0
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0].endswith("to working tree: 1 file, 1 declaration changed")
    assert "shop/cart.py:15  add_up  signature changed: function" in lines
    assert "was  def add_up(prices):" in lines
    assert any(line.startswith("shop/cart.py:12  Cart.total  caller") for line in lines)
    assert any(line.startswith("tests/test_cart.py::test_add_up  0.") for line in lines)
    assert any(line.startswith("pytest tests/test_cart.py::test_add_up") for line in lines)


def test_json_is_the_whole_review(run):
    review = json.loads(run("--json").stdout)
    assert review["declarations"][0]["change"]["change"] == "signature"
    assert review["tests"]["tests"][0]["framework"] == "pytest"
    assert review["root"]


def test_commands_can_be_piped_into_a_shell(run):
    assert run("--commands", "--max-tests", "1").stdout == "pytest tests/test_cart.py::test_add_up\n"


def test_markdown_keeps_names_of_the_repository_in_code(run):
    text = run("--markdown").stdout
    assert "### Changed declarations" in text
    assert "- signature changed: function `add_up` `shop/cart.py:15`" in text
    assert "<details><summary>Tests to run (2 of 3)</summary>" in text
    assert "```sh\npytest" in text


def test_sarif_notes_each_unchanged_caller_once(run):
    log = json.loads(run("--sarif").stdout)
    (sarif_run,) = log["runs"]
    places = [
        (
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in sarif_run["results"]
    ]
    assert log["version"] == "2.1.0"
    assert ("shop/cart.py", 12) in places
    assert len(places) == len(set(places))
    assert {result["level"] for result in sarif_run["results"]} == {"note"}
    assert {result["ruleId"] for result in sarif_run["results"]} == {"signature-changed"}


def test_patch_comes_from_a_file_or_from_standard_input(run, shop, tmp_path):
    patch = run_plainly(shop, "diff")
    (tmp_path / "change.patch").write_bytes(patch)
    for result in (run(str(tmp_path / "change.patch"), "--json"), run("-", "--json", data=patch)):
        review = json.loads(result.stdout)
        assert (review["target"], len(review["declarations"])) == ("patch", 1)


def test_nothing_staged_is_a_note_and_success(run):
    result = run("--staged")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing differs" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "data", "message"),
    [
        (["no-such-branch"], None, "unknown git revision 'no-such-branch'"),
        (["-"], b"--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1 +1 @@\n-y\n+x\n", "the patch does not apply to HEAD"),
        (["--staged", "HEAD"], None, "cannot be combined"),
        (["--sarif", "--markdown"], None, "give one of"),
    ],
)
def test_invalid_change_is_a_usage_error(run, arguments, data, message):
    result = run(*arguments, data=data)
    assert result.exit_code == 2
    assert message in result.stderr


def test_missing_index_is_an_error_on_request(tmp_path, monkeypatch):
    monkeypatch.chdir(make_repository(tmp_path / "shop"))
    result = CliRunner().invoke(app, ["diff", "--no-index"])
    assert result.exit_code == 11
    assert "is not indexed yet" in result.stderr
