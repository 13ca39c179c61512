"""Both sides of a change as git stores them."""

import os

import pytest

from coderag.engine.changes.revision_pair import list_changed_lines, read_revision_pair
from coderag.errors import InvalidQueryError
from coderag.schema.change_review import ChangeTarget
from tests.support.changed_repository import commit_files, make_repository, write_files
from tests.support.hostile_git import plant_commands, plant_environment, run_plainly

LONG = "".join(f"line {number} of a file\n" for number in range(40))


@pytest.fixture
def root(tmp_path):
    return make_repository(tmp_path / "repo", {"a.py": "x = 1\n", "long.txt": LONG, "gone.py": "y = 2\n"})


def read_files(root, **target):
    pair = read_revision_pair(root, ChangeTarget(**target))
    return {file.path: file for file in pair.files}


def test_working_tree_is_compared_with_head_by_default(root):
    write_files(root, {"a.py": "x = 2\n", "new.py": "z = 3\n", "gone.py": None})
    files = read_files(root)
    assert {path: file.status for path, file in files.items()} == {
        "a.py": "modified",
        "new.py": "added",
        "gone.py": "removed",
    }
    assert (files["a.py"].old_data, files["a.py"].new_data) == (b"x = 1\n", b"x = 2\n")
    assert (files["new.py"].old_data, files["gone.py"].new_data) == (None, None)


def test_ignored_files_are_left_out(root):
    write_files(root, {".gitignore": "*.log\n", "debug.log": "text\n"})
    assert read_files(root).keys() == {".gitignore"}


def test_staged_side_is_the_index_not_the_disk(root):
    write_files(root, {"a.py": "x = 2\n"})
    run_plainly(root, "add", "a.py")
    write_files(root, {"a.py": "x = 3\n", "gone.py": None})
    files = read_files(root, staged=True)
    assert files.keys() == {"a.py"}
    assert files["a.py"].new_data == b"x = 2\n"


def test_range_compares_two_commits_whatever_is_on_disk(root):
    commit_files(root, {"a.py": "x = 2\n"}, "Change")
    write_files(root, {"a.py": "broken"})
    assert read_files(root, revisions="HEAD~1..HEAD")["a.py"].new_data == b"x = 2\n"
    assert read_files(root, revisions="HEAD~1..")["a.py"].new_data == b"x = 2\n"


def test_three_dots_leave_out_what_the_other_branch_did(root):
    run_plainly(root, "checkout", "-q", "-b", "feature")
    commit_files(root, {"feature.py": "f = 1\n"}, "Feature")
    run_plainly(root, "checkout", "-q", "main")
    commit_files(root, {"main.py": "m = 1\n"}, "Main")
    assert read_files(root, revisions="main...feature").keys() == {"feature.py"}
    assert read_files(root, revisions="main..feature").keys() == {"feature.py", "main.py"}


def test_renamed_file_keeps_its_old_path(root):
    write_files(root, {"long.txt": None, "moved/long.txt": LONG.replace("line 7 ", "line seven ")})
    file = read_files(root)["moved/long.txt"]
    assert (file.status, file.old_path) == ("renamed", "long.txt")
    assert list_changed_lines(file) == ["line 7 of a file", "line seven of a file"]


@pytest.mark.skipif(os.name == "nt", reason="no permission bits")
def test_change_of_permissions_alone_is_told_apart(root):
    (root / "a.py").chmod(0o755)
    assert {path: file.status for path, file in read_files(root).items()} == {"a.py": "mode"}


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_link_to_a_folder_is_unchanged_and_compared_by_its_target(root):
    (root / "link").symlink_to("folder/")
    commit_files(root, {}, "Link")
    assert not read_files(root)
    (root / "link").unlink()
    (root / "link").symlink_to("other")
    file = read_files(root)["link"]
    assert (file.status, file.note, file.new_data) == ("modified", "symbolic link", None)


def test_binary_and_large_files_are_named_without_contents(root):
    (root / "image.bin").write_bytes(b"\0\1\2" * 100)
    (root / "large.py").write_bytes(b"x = 1\n" * 200_000)
    files = read_files(root)
    assert (files["image.bin"].note, files["image.bin"].new_data) == ("binary file", None)
    assert files["large.py"].note == "larger than 1,000,000 bytes"


def test_submodule_is_named_with_its_commits(root):
    first, second = "1" * 40, "2" * 40
    run_plainly(root, "update-index", "--add", "--cacheinfo", f"160000,{first},lib")
    run_plainly(root, "commit", "-qm", "Add a submodule")
    run_plainly(root, "update-index", "--cacheinfo", f"160000,{second},lib")
    assert read_files(root, staged=True)["lib"].note == f"submodule: {first[:12]} to {second[:12]}"


def test_submodule_on_disk_is_compared_by_its_checked_out_commit(root):
    library = make_repository(root / "lib", {"a.py": "x = 1\n"})
    commit_files(root, {}, "Add a submodule")
    assert not read_files(root)
    commit = commit_files(library, {"a.py": "x = 2\n"}, "Change the library")
    assert read_files(root)["lib"].note.endswith(f"to {commit[:12]}")


def test_files_left_out_of_a_sparse_checkout_are_not_removed(root):
    run_plainly(root, "update-index", "--skip-worktree", "gone.py")
    (root / "gone.py").unlink()
    assert not read_files(root)


def test_file_replaced_by_a_folder_is_removed_and_its_files_are_added(root):
    write_files(root, {"a.py": None, "a.py/inside.py": "z = 1\n"})
    assert {path: file.status for path, file in read_files(root).items()} == {
        "a.py": "removed",
        "a.py/inside.py": "added",
    }


def test_content_that_a_partial_clone_lacks_is_a_note(root):
    blob = run_plainly(root, "rev-parse", "HEAD:a.py").decode().strip()
    write_files(root, {"a.py": "x = 2\n"})
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    file = read_files(root)["a.py"]
    assert (file.old_data, file.note) == (None, "its content is not in this clone")


def test_merge_conflict_is_reported_once_with_our_side(root):
    run_plainly(root, "checkout", "-q", "-b", "theirs")
    commit_files(root, {"a.py": "x = 'theirs'\n"}, "Theirs")
    run_plainly(root, "checkout", "-q", "main")
    commit_files(root, {"a.py": "x = 'ours'\n"}, "Ours")
    with pytest.raises(Exception, match="merge"):
        run_plainly(root, "merge", "theirs")
    file = read_files(root, staged=True)["a.py"]
    assert (file.note, file.new_data) == ("has merge conflicts", b"x = 'ours'\n")


def test_line_endings_of_a_checkout_are_no_change(root):
    commit_files(root, {".gitattributes": "*.py text eol=crlf\n"}, "Attributes")
    write_files(root, {"a.py": "x = 1\r\n"})
    assert not read_files(root)


def test_folder_of_a_repository_shows_its_own_files_only(root):
    commit_files(root, {"part/b.py": "b = 1\n"}, "Part")
    write_files(root, {"part/b.py": "b = 2\n", "a.py": "x = 2\n"})
    assert read_files(root / "part").keys() == {"b.py"}
    assert read_files(root / "part", revisions="HEAD~1..HEAD").keys() == {"b.py"}


def test_repository_without_commits_shows_all_files_as_added(tmp_path):
    run_plainly(tmp_path, "init", "-q")
    write_files(tmp_path, {"a.py": "x = 1\n"})
    pair = read_revision_pair(tmp_path, ChangeTarget())
    assert (pair.base, [file.status for file in pair.files]) == ("", ["added"])


def test_patch_is_applied_in_memory(root):
    write_files(root, {"a.py": "x = 2\n", "new.py": "z = 1\n"})
    run_plainly(root, "add", "-A")
    patch = run_plainly(root, "diff", "--cached", "--binary")
    run_plainly(root, "reset", "-q", "--hard")
    before = run_plainly(root, "count-objects", "-v")
    files = read_files(root, patch=patch)
    assert {path: file.new_data for path, file in files.items()} == {"a.py": b"x = 2\n", "new.py": b"z = 1\n"}
    assert (root / "a.py").read_text() == "x = 1\n"
    assert run_plainly(root, "status", "--porcelain") == b""
    assert run_plainly(root, "count-objects", "-v") == before


def test_patch_without_prefixes_is_applied_too(root):
    patch = b"--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 9\n"
    assert read_files(root, patch=patch)["a.py"].new_data == b"x = 9\n"


def test_patch_without_lines_around_its_changes_is_applied_too(root):
    write_files(root, {"long.txt": LONG.replace("line 7 ", "line seven ")})
    patch = run_plainly(root, "diff", "-U0")
    run_plainly(root, "checkout", "-q", "--", ".")
    assert list_changed_lines(read_files(root, patch=patch)["long.txt"]) == ["line 7 of a file", "line seven of a file"]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-other\n+x = 9\n", r"does not apply to HEAD: patch failed: a\.py:1"),
        (b"--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-x\n+y\n", r"does not apply to HEAD: none\.py"),
        (b"hello", "the patch has no change"),
        (b"", "the patch has no change"),
        (b"--- a/a.py\n+++ b/a.py\n@@ -1,9 +1 @@\n-x\n", "does not apply to HEAD"),
    ],
)
def test_patch_that_does_not_apply_is_an_error_with_its_place(root, patch, message):
    with pytest.raises(InvalidQueryError, match=message) as raised:
        read_files(root, patch=patch)
    assert raised.value.hint


@pytest.mark.parametrize("revisions", ["nowhere", "HEAD..nowhere", "--all", "HEAD..--output=x", "^HEAD"])
def test_unknown_revision_is_an_error_with_its_name(root, revisions):
    with pytest.raises(InvalidQueryError, match="unknown git revision"):
        read_files(root, revisions=revisions)


def test_folder_without_git_is_an_error(tmp_path):
    with pytest.raises(InvalidQueryError, match="not in a git repository"):
        read_revision_pair(tmp_path, ChangeTarget())


@pytest.mark.skipif(os.name == "nt", reason="the canary is a shell script")
@pytest.mark.parametrize("target", [{}, {"staged": True}, {"revisions": "HEAD~1..HEAD"}, {"revisions": "HEAD~1"}])
def test_commands_of_the_repository_are_never_run(root, tmp_path, monkeypatch, target):
    commit_files(root, {"a.py": "x = 2\n"}, "Change")
    write_files(root, {"a.py": "x = 3\n"})
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 2\n+x = 9\n"
    canary = tmp_path / "ran"
    plant_commands(root, canary)
    plant_environment(monkeypatch, canary)
    read_files(root, **target)
    read_files(root, patch=patch)
    assert not canary.exists()
