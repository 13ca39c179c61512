"""``coderag history`` over a small git repository, without a service."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from coderag.interfaces.cli.main import app
from tests.support.histories import GitFolder

SOURCE = "class Shop:\n    def open(self):\n        return 1\n\n\ndef close(limit=5):\n    return limit\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = GitFolder(tmp_path_factory.mktemp("template") / "shop")
    folder.commit("Open the shop", {"src/shop.py": SOURCE, "README.md": "# Shop\n"})
    folder.commit(
        "Raise the limit\n\nCustomers asked.\n\nRefs: PROJ-45\n",
        {"src/shop.py": SOURCE.replace("limit=5", "limit=9"), "README.md": "# The shop\n"}, author="Bob",
    )  # fmt: skip
    folder.git("tag", "v1")
    folder.commit("Return two", {"src/shop.py": SOURCE.replace("limit=5", "limit=9").replace("return 1", "return 2")})
    return folder.path


@pytest.fixture
def shop(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitFolder:
    shutil.copytree(template, tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    return GitFolder(tmp_path / "shop", existing=True)


@pytest.fixture
def history(shop: GitFolder) -> Callable[..., Result]:
    return lambda *arguments: CliRunner().invoke(app, ["history", *arguments], catch_exceptions=False)


def list_subjects(result: Result) -> list[str]:
    assert result.exit_code == 0, result.stderr
    return [line.rpartition("  ")[2] for line in result.stdout.splitlines() if not line.startswith(" ")]


def test_path_needs_no_index(history: Callable[..., Result], shop: GitFolder) -> None:
    assert list_subjects(history("src/shop.py", "--no-index")) == [
        "Return two", "Raise the limit  [PROJ-45]".rpartition("  ")[2], "Open the shop",
    ]  # fmt: skip
    assert list_subjects(history("src/shop.py:6-7")) == ["[PROJ-45]", "Open the shop"]
    assert not (shop.path / ".coderag" / "v1").exists()


def test_whole_repository_and_limit(history: Callable[..., Result]) -> None:
    result = history("-n", "2")
    assert len(list_subjects(result)) == 2
    assert result.stderr == "there are more than 2 commits (raise --limit)\n"


def test_name_is_resolved_through_the_code_graph(history: Callable[..., Result], shop: GitFolder) -> None:
    shop.write("src/other.py", "def close():\n    pass\n")
    result = history("Shop.open", "--json")
    value = json.loads(result.stdout)
    assert value["subject"] == {
        "path": "src/shop.py",
        "start_line": 2,
        "end_line": 3,
        "qualified_name": "Shop.open",
        "kind": "method",
        "is_named": True,
    }
    assert [change["commit"]["subject"] for change in value["changes"]] == ["Return two", "Open the shop"]
    unknown = history("Shop.clsoe")
    assert unknown.exit_code == 2
    assert "'Shop.clsoe'" in unknown.stderr
    ambiguous = history("close")
    assert ambiguous.exit_code == 2
    assert "'close' is the name of 2 declarations" in ambiguous.stderr
    assert [line.rpartition("  ")[2] for line in history("src/shop.py::close").stdout.splitlines()][
        -1
    ] == "Open the shop"


def test_name_without_an_index_says_so(history: Callable[..., Result]) -> None:
    result = history("Shop.open", "--no-index")
    assert result.exit_code == 11
    assert "names need an index" in result.stderr


def test_typed_path_is_relative_to_the_folder(
    history: Callable[..., Result], shop: GitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.path / "src")
    assert len(list_subjects(history("shop.py"))) == 3
    assert len(list_subjects(history("../README.md"))) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("src/shop.py", "--since", "v1"), "Return two"),
        (("src/shop.py", "--until", "2020-09-14T23:00"), "Open the shop"),
        (("src/shop.py", "--who"), "6 lines  2 commits  2020-09-14 to 2020-09-16  Ann <ann@x.test>"),
        (("src/shop.py", "--with"), "2 of 3 commits  100% of its 2"),
        (("src/shop.py", "--blame"), "6  "),
        (("src/shop.py", "--text", "limit=9"), "introduced  line 6 now  Raise the limit"),
        (("--ticket", "PROJ-45"), "changed signature of function close  src/shop.py:6"),
        (("--commit", "v1"), "    Customers asked."),
        (("--search", "customers"), "Raise the limit"),
        (("--read-all",), "declarations of 3 of 3 commits read"),
    ],
)
def test_question_is_answered_as_text_and_json(
    history: Callable[..., Result], arguments: tuple[str, ...], expected: str
) -> None:
    result = history(*arguments)
    assert result.exit_code == 0, result.stderr
    assert expected in result.stdout
    assert isinstance(json.loads(history(*arguments, "--json").stdout), dict)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nothing.py",), 11, "no file and no commit has the path 'nothing.py'"),
        (("new.py",), 2, "new.py was never committed"),
        (("--commit", "v9"), 2, "no commit is named 'v9'"),
        (("src/shop.py", "--since", "v9"), 2, "'v9' is neither a date nor a revision"),
        (("--who",), 2, "--who needs a path or a name"),
        (("--who", "--blame", "src/shop.py"), 2, "--who and --blame exclude one another"),
        (("src/shop.py", "--ticket", "PROJ-45"), 2, "--ticket takes no path or name"),
        (("src/shop.py:9-3",), 2, "invalid line range"),
    ],
)
def test_error_names_the_value(
    history: Callable[..., Result], shop: GitFolder, arguments: tuple[str, ...], code: int, message: str
) -> None:
    shop.write("new.py", "1\n")
    result = history(*arguments, "--no-index")
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_missing_history_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["history", *arguments], catch_exceptions=False)

    result = run("-C", ".")
    assert (result.exit_code, "is not in a git repository" in result.stderr) == (25, True)
    GitFolder(tmp_path / "plain")
    assert "the repository has no commits" in run().stderr
    monkeypatch.setenv("PATH", os.devnull)
    assert "git is not installed" in run().stderr


def test_shallow_clone_says_where_its_history_ends(history: Callable[..., Result], shop: GitFolder) -> None:
    shop.git("clone", "-q", "--depth", "1", f"file://{shop.path}", "clone")
    result = history("src/shop.py", "-C", "clone")
    assert result.exit_code == 0
    assert "this clone is shallow" in result.stderr


def test_messages_cannot_control_the_terminal(history: Callable[..., Result], shop: GitFolder) -> None:
    shop.commit("Evil \x1b[31m \u202e text\n\n\x1b]0;title\x07", {"src/shop.py": SOURCE})
    for arguments in (("src/shop.py",), ("--commit", "HEAD")):
        assert not {"\x1b", "\u202e", "\x07"} & set(history(*arguments).stdout)
