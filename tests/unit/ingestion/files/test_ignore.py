"""The rules of a directory: which files of patterns count, in which order, and why a name is left out."""

import shutil
from pathlib import Path

import pytest

from coderag.ingestion.files.git_repository import find_repository
from coderag.ingestion.files.ignore import IgnoreRules
from tests.support.ignored_trees import git, ignored_by_git, ignored_by_us, make_repository, make_tree

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is what we compare with")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


def test_git_sources_apply_in_order(repository: Path, home: Path) -> None:
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.c\nab\n[[]a]\n")
    (repository / ".git" / "info" / "exclude").write_text("!b.c\nxab\n/d/b\n")
    (repository / ".gitignore").write_text("!a.c\n/d/x\n")
    (repository / "d" / ".gitignore").write_text("a.c\n!b\n")
    ours = ignored_by_us(repository)
    assert ours == ignored_by_git(repository)
    assert {"d/a.c", "x/a.c", "ab", "xab", "d/x/a"} & ours == {"d/a.c", "ab", "xab", "d/x/a"}


@pytest.mark.parametrize("value", ["~/mine", "{home}/mine", "mine"])
def test_configured_excludes_file_replaces_the_default(repository: Path, home: Path, value: str) -> None:
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("b\n")
    for directory in (home, repository):
        (directory / "mine").write_text("a\n")
    git(repository, "config", "core.excludesFile", value.format(home=home.as_posix()))
    ours = ignored_by_us(repository)
    assert ours == ignored_by_git(repository)
    assert "a" in ours
    assert "b" not in ours


def test_reason_names_the_file_and_the_pattern(tmp_path: Path) -> None:
    make_tree(tmp_path, ["src/"])
    (tmp_path / "src" / ".gitignore").write_text("*.log\nété*\n", encoding="utf-8")
    rules = IgnoreRules.load_for_root(tmp_path, ["*.tmp"]).enter_directory(tmp_path / "src")
    assert rules.find_ignore_reason("a.log", is_dir=False) == "ignored by src/.gitignore: *.log"
    assert rules.find_ignore_reason("été.py", is_dir=False) == "ignored by src/.gitignore: été*"
    assert rules.find_ignore_reason("a.tmp", is_dir=False) == "excluded by the settings: *.tmp"
    assert rules.find_ignore_reason("a.py", is_dir=False) is None


def test_precedence_of_coderagignore_and_settings(tmp_path: Path) -> None:
    make_tree(tmp_path, ["d/"])
    (tmp_path / ".gitignore").write_text("*.a\n*.b\n")
    (tmp_path / ".coderagignore").write_text("!*.a\n*.c\n*.d\n")
    (tmp_path / "d" / ".gitignore").write_text("!*.c\n!*.e\n")
    rules = IgnoreRules.load_for_root(tmp_path, ["*.e", "!*.d"])
    inner = rules.enter_directory(tmp_path / "d")
    assert [name for name in ("1.a", "1.b", "1.c", "1.d", "1.e") if rules.find_ignore_reason(name, is_dir=False)] == [
        "1.b",
        "1.c",
        "1.e",
    ]
    assert [name for name in ("1.a", "1.b", "1.c", "1.d", "1.e") if inner.find_ignore_reason(name, is_dir=False)] == [
        "1.b",
        "1.e",
    ]


def test_tracked_file_is_ignored_by_coderag_patterns_only(tmp_path: Path) -> None:
    make_tree(tmp_path, ["d/"])
    (tmp_path / ".coderagignore").write_text("*.c\n")
    (tmp_path / "d" / ".gitignore").write_text("*.b\n*.c\n")
    rules = IgnoreRules.load_for_root(tmp_path).enter_directory(tmp_path / "d")
    assert rules.find_ignore_reason("1.b", is_dir=False, tracked=True) is None
    assert rules.find_ignore_reason("1.c", is_dir=False, tracked=True) == "ignored by .coderagignore: *.c"


def test_rules_do_not_change_when_a_directory_is_entered(tmp_path: Path) -> None:
    make_tree(tmp_path, ["d/"])
    (tmp_path / "d" / ".gitignore").write_text("a\n")
    rules = IgnoreRules.load_for_root(tmp_path)
    assert rules.enter_directory(tmp_path / "d").find_ignore_reason("a", is_dir=False)
    assert rules.find_ignore_reason("a", is_dir=False) is None


def test_directories_without_patterns_share_rules(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n/build\nb/c/d\n")
    rules = IgnoreRules.load_for_root(tmp_path)
    plain = rules.enter_directory(tmp_path / "a", ())
    assert plain.enter_directory(tmp_path / "a" / "b", ()) is plain
    assert rules.enter_directory(tmp_path / "b", ()) is not plain


def test_enclosing_repository_rules_apply_below_its_top(repository: Path) -> None:
    (repository / ".gitignore").write_text("/d/x/a\nab\n")
    (repository / "d" / ".coderagignore").write_text("b\n")
    rules = IgnoreRules.load_for_root(repository / "d" / "x")
    assert rules.find_ignore_reason("a", is_dir=False) == "ignored by ../../.gitignore: /d/x/a"
    assert rules.find_ignore_reason("b", is_dir=True) == "ignored by ../.coderagignore: b"
    assert rules.repository == find_repository(repository)


def test_ignored_root_uses_only_its_own_rules(repository: Path) -> None:
    (repository / ".gitignore").write_text("*\n")
    (repository / "d" / ".gitignore").write_text("a\n")
    rules = IgnoreRules.load_for_root(repository / "d")
    assert rules.repository is None
    assert [name for name in ("a", "b") if rules.find_ignore_reason(name, is_dir=False)] == ["a"]


def test_ignore_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("a\n")
    (tmp_path / ".gitignore").symlink_to("elsewhere")
    assert IgnoreRules.load_for_root(tmp_path).find_ignore_reason("a", is_dir=False) is None
