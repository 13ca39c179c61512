import shutil
import subprocess

import pytest

from coderag.ingestion.cache_directory import resolve_cache_directory


def git(directory, *arguments):
    subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init")
    git(main, "commit", "--allow-empty", "-m", "first")
    return main


def where(root):
    return resolve_cache_directory(root, root / ".coderag")


def test_folder_without_git_has_its_own_cache(tmp_path):
    assert resolve_cache_directory(tmp_path, tmp_path / "elsewhere") == tmp_path / "elsewhere" / "cache"


def test_main_work_tree_has_its_own_cache(repository):
    assert where(repository) == repository / ".coderag" / "cache"


def test_linked_work_tree_shares_the_main_cache(repository, tmp_path):
    git(repository, "worktree", "add", str(tmp_path / "linked"))
    assert where(tmp_path / "linked") == where(repository)


def test_relative_git_link_is_resolved(repository, tmp_path):
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", str(linked))
    (linked / ".git").write_text("gitdir: ../main/.git/worktrees/linked\n")
    (repository / ".git/worktrees/linked/gitdir").write_text("../../../../linked/.git\n")
    assert where(linked) == where(repository)


@pytest.mark.parametrize("name", ["bare.git", ".git"])
def test_work_trees_of_a_bare_repository_share_its_cache(repository, tmp_path, name):
    bare = tmp_path / "project" / name
    git(tmp_path, "clone", "--bare", str(repository), str(bare))
    for linked in ("one", "two"):
        git(bare, "worktree", "add", "-b", linked, str(tmp_path / linked))
        assert where(tmp_path / linked) == bare / "coderag" / "cache"


def test_submodule_has_its_own_cache(repository, tmp_path):
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", str(repository), "sub")
    assert (repository / "sub" / ".git").is_file()
    assert where(repository / "sub") == repository / "sub" / ".coderag" / "cache"


def test_unconfirmed_git_link_is_ignored(repository, tmp_path):
    git(repository, "worktree", "add", str(tmp_path / "linked"))
    forged = tmp_path / "unpacked"
    forged.mkdir()
    shutil.copy(tmp_path / "linked" / ".git", forged)
    assert where(forged) == forged / ".coderag" / "cache"


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: \0", "gitdir: nowhere", "\xff\xfe", "gitdir: ."])
def test_invalid_git_link_is_ignored(tmp_path, content):
    (tmp_path / ".git").write_text(content, encoding="latin-1")
    assert where(tmp_path) == tmp_path / ".coderag" / "cache"
