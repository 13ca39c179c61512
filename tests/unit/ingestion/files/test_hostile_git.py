"""A repository whose own configuration of git names commands: none of them runs, whatever git is asked."""

import os
import subprocess

import pytest

from coderag.config.index_origin import is_foreign_index
from coderag.ingestion.files.git_repository import run_git
from coderag.ingestion.files.revisions import find_changed_since
from coderag.ingestion.files.scanner import scan
from coderag.system.git import is_tracked
from tests.support.hostile_git import plant_commands, run_plainly

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the canary is a shell script")


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "ran"


@pytest.fixture
def root(tmp_path, canary):
    """A repository with a commit, an edited file, and a command in each setting that can name one."""
    folder = tmp_path / "shop"
    folder.mkdir()
    run_plainly(folder, "init", "-q")
    (folder / "a.py").write_text("a = 1\n")
    (folder / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    run_plainly(folder, "add", ".")
    run_plainly(folder, "commit", "-q", "-m", "one")
    (folder / "a.py").write_text("a = 2\n")
    plant_commands(folder, canary)
    return folder


def test_scanner_runs_no_repository_commands(root, canary) -> None:
    assert [file.path for file in scan(root, max_file_bytes=1_000_000, exclude=()).candidates]
    assert not canary.exists()


def test_changed_files_are_found_without_repository_commands(root, canary) -> None:
    assert find_changed_since(root, "HEAD", ["a.py"]) == ["a.py"]
    assert not canary.exists()
    subprocess.run(["git", "diff", "--stat"], cwd=root, capture_output=True, check=False)
    assert canary.exists(), "the trap itself does not work"


def test_listing_tracked_files_runs_no_repository_commands(root, canary) -> None:
    assert is_tracked(root, ["a.py"])
    assert not is_tracked(root, ["b.py"])
    (root / ".coderag" / "v1").mkdir(parents=True)
    assert is_foreign_index(root)
    assert not canary.exists()


def test_a_missing_object_is_not_fetched(root, canary) -> None:
    assert run_git(root, "cat-file", "-p", "1" * 40) is None
    assert not canary.exists()
