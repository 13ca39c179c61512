"""Which repository a command means."""

from pathlib import Path

import pytest

from coderag.config.repository_root import find_root


@pytest.fixture
def inner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a few below the top."""
    folder = tmp_path / "top" / "middle" / "inner"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_without_any_mark_it_is_the_current_folder(inner: Path) -> None:
    assert find_root(None) == inner


@pytest.mark.parametrize("mark", [".coderag", ".coderag.yaml"])
def test_the_nearest_mark_wins_over_git(inner: Path, mark: str) -> None:
    top = inner.parents[1]
    (top / mark).mkdir()
    (inner.parent / ".git").mkdir()
    assert find_root(None) == top
    (inner.parent / mark).mkdir()
    assert find_root(None) == inner.parent


def test_without_a_mark_it_is_the_git_root(inner: Path) -> None:
    (inner.parents[1] / ".git").mkdir()
    assert find_root(None) == inner.parents[1]


def test_a_git_worktree_has_a_file_as_mark(inner: Path) -> None:
    (inner.parent / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    assert find_root(None) == inner.parent


def test_the_index_of_the_main_checkout_is_not_used_in_a_worktree_below_it(inner: Path) -> None:
    (inner.parents[1] / ".coderag").mkdir()
    (inner.parent / ".git").write_text(f"gitdir: {inner.parents[1]}/.git/worktrees/side\n", encoding="utf-8")
    assert find_root(None) == inner.parent
    (inner / ".coderag.yaml").touch()
    assert find_root(None) == inner


def test_a_submodule_belongs_to_the_repository_around_it(inner: Path) -> None:
    (inner.parents[1] / ".coderag").mkdir()
    (inner.parent / ".git").write_text("gitdir: ../.git/modules/middle\n", encoding="utf-8")
    assert find_root(None) == inner.parents[1]


def test_marks_in_the_home_folder_claim_nothing(inner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = inner.parents[1]
    monkeypatch.setattr(Path, "home", lambda: home)
    (home / ".coderag.yaml").touch()
    (home / ".git").mkdir()
    assert find_root(None) == inner


def test_a_given_folder_is_taken_as_it_is(inner: Path) -> None:
    (inner / ".coderag").mkdir()
    assert find_root(Path("elsewhere")) == Path("elsewhere")
