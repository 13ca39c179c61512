"""When the engine of a repository has to be opened again."""

import subprocess
from pathlib import Path

import pytest

from coderag.config.index_origin import mark_as_own
from coderag.workspace.engines import EngineStamp


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return one with an index of this user's own, as git ignores it."""
    root = tmp_path / "repository"
    (root / ".coderag").mkdir(parents=True)
    (root / ".gitignore").write_text(".coderag\n", encoding="utf-8")
    git(root, "init", "-q")
    mark_as_own(root / ".coderag")
    (root / ".coderag/state").write_text("ours", encoding="utf-8")
    return root


def test_nothing_changes_while_the_index_does(repository: Path) -> None:
    before = EngineStamp.from_repository(repository, trusted=False)
    (repository / ".coderag/state").write_text("newer", encoding="utf-8")
    assert EngineStamp.from_repository(repository, trusted=False) == before
    assert not before.has_foreign_index


def test_an_index_that_git_brings_meanwhile_is_not_believed(repository: Path) -> None:
    before = EngineStamp.from_repository(repository, trusted=False)
    git(repository, "add", "-f", ".coderag/state")  # as a pull does, which overwrites what is ignored
    assert EngineStamp.from_repository(repository, trusted=False) != before


def test_an_index_folder_that_has_become_a_link_is_not_believed(repository: Path, tmp_path: Path) -> None:
    before = EngineStamp.from_repository(repository, trusted=False)
    (repository / ".coderag").rename(tmp_path / "elsewhere")
    try:
        (repository / ".coderag").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    except OSError:
        pytest.skip("this user may make no links")
    assert EngineStamp.from_repository(repository, trusted=False) != before


def test_where_the_index_of_a_trusted_repository_came_from_is_no_question(repository: Path) -> None:
    before = EngineStamp.from_repository(repository, trusted=True)
    git(repository, "add", "-f", ".coderag/state")
    assert EngineStamp.from_repository(repository, trusted=True) == before
