"""An index that came with a repository is not believed, as long as nobody trusts the repository."""

import os
import shutil
import subprocess

import pytest

from coderag.config.index_origin import MARK_FILE, find_fallback_folder, is_foreign_index, mark_as_own
from coderag.config.settings import Settings
from coderag.ingestion.cache_directory import resolve_cache_directory
from coderag.stores.disk import create_index_directory
from coderag.stores.index_locations import find_index_folder, find_prompts_folder


def git(root, *arguments) -> None:
    subprocess.run(["git", "-c", "init.defaultBranch=main", *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def make_index(root) -> None:
    create_index_directory(root / ".coderag" / "cache")
    (root / ".coderag" / "v1").mkdir()
    (root / ".coderag" / "v1" / "CURRENT").write_text("pointer")


def test_an_index_that_we_made_is_ours(root) -> None:
    assert not is_foreign_index(root)
    make_index(root)
    assert not is_foreign_index(root)
    assert find_index_folder(root, Settings.load(root, trusted=False).storage) == root / ".coderag"


def test_an_index_that_was_unpacked_is_not(root) -> None:
    (root / ".coderag" / "v1").mkdir(parents=True)
    assert is_foreign_index(root)
    create_index_directory(root / ".coderag")
    assert is_foreign_index(root)


def test_a_mark_copied_to_another_place_says_nothing(root, tmp_path) -> None:
    make_index(root)
    shutil.copytree(root, tmp_path / "copy")
    assert is_foreign_index(tmp_path / "copy")


def test_a_mark_of_another_user_says_nothing(root, monkeypatch, tmp_path) -> None:
    make_index(root)
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "another home"))
    assert is_foreign_index(root)


@pytest.mark.parametrize("name", [".coderag/v1/CURRENT", ".coderag/chat.sqlite"])
def test_what_git_tracks_came_with_the_repository_marked_or_not(root, name) -> None:
    make_index(root)
    git(root, "init", "-q")
    (root / name).write_text("theirs")
    git(root, "add", "-f", name)
    assert is_foreign_index(root)


def test_prompts_that_a_project_shares_do_not_make_its_index_a_stranger(root) -> None:
    (root / ".coderag" / "prompts").mkdir(parents=True)
    (root / ".coderag" / "prompts" / "answer.md").write_text("x")
    git(root, "init", "-q")
    git(root, "add", "-f", ".coderag/prompts/answer.md")
    assert not is_foreign_index(root)
    make_index(root)
    assert not is_foreign_index(root)


@pytest.mark.skipif(os.name == "nt", reason="links need a permission there")
@pytest.mark.parametrize("link", [".coderag", ".coderag/prompts", ".coderag/.gitignore"])
def test_a_link_is_never_ours(root, tmp_path, link) -> None:
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(tmp_path / "elsewhere")
    assert is_foreign_index(root)


def test_a_stranger_s_index_is_made_anew_in_the_cache_of_the_user(root) -> None:
    (root / ".coderag" / "v1").mkdir(parents=True)
    settings = Settings.load(root, trusted=False)
    assert find_index_folder(root, settings.storage) == find_fallback_folder(root)
    assert not find_fallback_folder(root).is_relative_to(root)
    assert settings.restricted[0].startswith(".coderag/: came with the repository")
    assert find_index_folder(root, Settings.load(root).storage) == root / ".coderag"


def test_a_folder_that_the_user_chose_is_believed(root, tmp_path, monkeypatch) -> None:
    (root / ".coderag" / "v1").mkdir(parents=True)
    monkeypatch.setenv("CODERAG_STORAGE__DIRECTORY", str(tmp_path / "mine"))
    settings = Settings.load(root, trusted=False)
    assert settings.storage.directory == str(tmp_path / "mine")
    assert settings.restricted == ()


def test_two_repositories_of_one_name_have_indexes_of_their_own(tmp_path) -> None:
    assert find_fallback_folder(tmp_path / "a" / "shop") != find_fallback_folder(tmp_path / "b" / "shop")


def test_only_the_folder_of_an_index_in_a_repository_is_marked(tmp_path) -> None:
    mark_as_own(tmp_path)
    assert not (tmp_path / MARK_FILE).exists()


def test_a_folder_with_something_in_it_is_not_claimed(root) -> None:
    (root / ".coderag" / "v1").mkdir(parents=True)
    mark_as_own(root / ".coderag")
    assert is_foreign_index(root)


def test_a_working_tree_shares_no_cache_that_came_with_the_main_one(root, tmp_path) -> None:
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    own = tmp_path / "linked" / ".coderag"
    assert resolve_cache_directory(tmp_path / "linked", own) == root / ".coderag" / "cache"
    (root / ".coderag" / "cache").mkdir(parents=True)
    assert resolve_cache_directory(tmp_path / "linked", own) == own / "cache"


def test_own_texts_of_prompts_are_used_only_where_the_repository_is_trusted_or_has_no_say(root, tmp_path) -> None:
    assert find_prompts_folder(root, Settings.load(root)) == root / ".coderag" / "prompts"
    assert find_prompts_folder(root, Settings.load(root, trusted=False)) is None
    elsewhere = Settings.load(root, trusted=False, storage={"directory": str(tmp_path / "mine")})
    assert find_prompts_folder(root, elsewhere) == tmp_path / "mine" / "prompts"
