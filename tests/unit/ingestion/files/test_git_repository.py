"""What git tells us, and what is done without it."""

import os
import shutil
from pathlib import Path

import pytest

from coderag.ingestion.files import git_repository
from coderag.ingestion.files.git_repository import read_repository, run_git
from coderag.ingestion.files.ignore import IgnoreRules
from coderag.system import git as system_git
from tests.support.ignored_trees import git, ignored_by_us, make_repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is what we compare with")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


def test_config_is_the_same_without_git(repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mine").write_text("AB\n")
    (home / ".gitconfig").write_text('[user]\n\tname = "x"\n[core]\n\texcludesFile = "~/mine" ; comment\n')
    git(repository, "config", "core.ignoreCase", "true")
    with_git = ignored_by_us(repository)
    monkeypatch.setattr(system_git.shutil, "which", lambda name: None)
    assert "ab" in with_git
    assert ignored_by_us(repository) == with_git


def test_global_config_variable_is_honoured_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text(f"[core]\nexcludesfile = {(tmp_path / 'mine').as_posix()}\n")
    (tmp_path / "mine").write_text("*.log\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setattr(system_git.shutil, "which", lambda name: None)
    assert IgnoreRules.load_for_root(tmp_path).find_ignore_reason("a.log", is_dir=False)


@pytest.mark.parametrize("executable", ["git", None])
def test_user_without_a_home_has_no_global_excludes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    def no_home(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(git_repository.Path, "expanduser", no_home)
    monkeypatch.setattr(system_git.shutil, "which", lambda name: executable)
    (tmp_path / ".gitignore").write_text("a\n")
    assert IgnoreRules.load_for_root(tmp_path).find_ignore_reason("a", is_dir=False)


def test_empty_or_damaged_git_directory_is_not_a_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert read_repository(tmp_path) is None
    (tmp_path / ".git").rmdir()
    (tmp_path / ".git").write_text("gitdir: nowhere\0\n")
    assert read_repository(tmp_path) is None


def test_git_does_not_run_commands_of_the_repository(repository: Path) -> None:
    script = repository / "monitor.sh"
    script.write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(script))
    assert run_git(repository, "status", "--porcelain") is not None
    assert not (repository / "ran").exists()
    git(repository, "status")
    assert (repository / "ran").exists(), "the trap itself does not work"


def test_git_inside_the_repository_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_git.shutil, "which", lambda name: str(tmp_path / "git"))
    (tmp_path / "git").write_text("#!/bin/sh\necho taken\n")
    (tmp_path / "git").chmod(0o755)
    assert run_git(tmp_path, "version") is None


def test_failing_git_counts_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_git(tmp_path, "no-such-command") is None
    monkeypatch.setattr(system_git.shutil, "which", lambda name: "/nonexistent/git")
    assert run_git(tmp_path, "version") is None


def test_git_hook_environment_is_ignored(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    printed = run_git(repository, "rev-parse", "--absolute-git-dir")
    assert printed is not None
    assert Path(os.fsdecode(printed).strip()) == (repository / ".git").resolve()
