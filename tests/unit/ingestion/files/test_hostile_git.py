"""A repository whose own configuration of git names commands: none of them runs, whatever git is asked."""

import os
import subprocess

import pytest

from coderag.config.index_origin import is_foreign_index
from coderag.ingestion.files.git_repository import run_git
from coderag.ingestion.files.revisions import find_changed_since
from coderag.ingestion.files.scanner import scan
from coderag.system.git import is_tracked

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the canary is a shell script")


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "ran"


@pytest.fixture
def root(tmp_path, canary):
    """A repository with a commit, an edited file, and a command in each setting that can name one."""
    folder = tmp_path / "shop"
    folder.mkdir()
    script = tmp_path / "canary.sh"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {canary}\ncat\n')
    script.chmod(0o755)

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    (folder / "a.py").write_text("a = 1\n")
    (folder / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    (folder / "a.py").write_text("a = 2\n")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    for name in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "diff.external", "gpg.program",
        "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
        "credential.helper", "uploadpack.packObjectsHook", "interactive.diffFilter",
    ):  # fmt: skip
        git("config", name, str(script))
    git("config", "core.hooksPath", str(hooks))
    git("config", "remote.origin.url", f"ext::{script} %S")
    git("config", "remote.origin.promisor", "true")
    git("config", "remote.origin.uploadpack", str(script))
    git("config", "extensions.partialClone", "origin")
    git("config", "alias.ls-files", f"!{script}")
    canary.unlink(missing_ok=True)
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
