import subprocess

import pytest

from coderag.errors import InvalidQueryError
from coderag.ingestion.files.revisions import find_changed_since

PATHS = ["a.py", "b.py", "sub/c.py", "sub/new.py", "sub/umlaut-\xe4.py"]


def git(root, *arguments):
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def commit(root, message="next"):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "sub").mkdir()
    for path in ("a.py", "b.py", "sub/c.py", "sub/umlaut-\xe4.py"):
        (tmp_path / path).write_text(f"{path} = 1\n", encoding="utf-8")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    return tmp_path


def test_clean_tree_has_no_changes(root):
    assert find_changed_since(root, "HEAD", PATHS[:3]) == []


def test_committed_uncommitted_staged_and_untracked_changes_are_listed(root):
    (root / "a.py").write_text("committed = 2\n")
    commit(root)
    assert find_changed_since(root, "HEAD", PATHS) == ["sub/new.py"]  # not in the revision, whether it exists or not
    (root / "b.py").write_text("staged = 2\n")
    git(root, "add", "b.py")
    (root / "sub/umlaut-\xe4.py").write_text("edited = 2\n")
    (root / "sub/new.py").write_text("untracked = 1\n")
    assert find_changed_since(root, "HEAD~1", PATHS) == ["a.py", "b.py", "sub/new.py", "sub/umlaut-\xe4.py"]
    assert find_changed_since(root, "HEAD", PATHS) == ["b.py", "sub/new.py", "sub/umlaut-\xe4.py"]


def test_touched_or_reverted_file_is_unchanged(root):
    content = (root / "a.py").read_bytes()
    (root / "a.py").write_text("other\n")
    commit(root)
    (root / "a.py").write_bytes(content)
    (root / "b.py").write_bytes((root / "b.py").read_bytes())
    assert find_changed_since(root, "HEAD~1", PATHS[:3]) == []
    assert find_changed_since(root, "HEAD", PATHS[:3]) == ["a.py"]


def test_paths_are_relative_to_the_folder(root):
    (root / "sub/c.py").write_text("edited\n")
    (root / "a.py").write_text("edited\n")
    assert find_changed_since(root / "sub", "HEAD", ["c.py", "umlaut-\xe4.py"]) == ["c.py"]


def test_comparison_runs_no_repository_commands(root):
    (root / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    commit(root)
    git(root, "config", "filter.evil.clean", "touch ran; cat")
    git(root, "config", "diff.evil.textconv", "touch ran; cat")
    git(root, "config", "diff.external", "touch ran")
    (root / "a.py").write_text("edited\n")
    (root / "b.py").write_text((root / "b.py").read_text())
    assert find_changed_since(root, "HEAD", PATHS[:3]) == ["a.py"]
    assert not (root / "ran").exists()


@pytest.mark.parametrize("revision", ["nope", "main..HEAD", "^main", "--all", "-p", "0" * 40])
def test_unknown_revision_is_rejected(root, revision):
    with pytest.raises(InvalidQueryError, match="unknown git revision"):
        find_changed_since(root, revision, PATHS)


def test_folder_outside_a_repository_is_rejected(tmp_path):
    with pytest.raises(InvalidQueryError, match="not in a git repository"):
        find_changed_since(tmp_path, "HEAD", PATHS)
