import pytest

from coderag.ingestion.files.rescan import rescan
from coderag.ingestion.files.scanner import scan

LIMIT = 1_000


@pytest.fixture
def root(tmp_path):
    for path in ("a.py", "pkg/b.py", "pkg/sub/c.py", "z.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    return tmp_path


def again(root, last, *paths):
    return rescan(root, last, paths, max_file_bytes=LIMIT)


@pytest.mark.parametrize("edit", [lambda file: file.write_text("x = 12\n"), lambda file: file.unlink()])
@pytest.mark.parametrize("path", ["a.py", "pkg/sub/c.py", "z.py"])
def test_an_edit_or_deletion_gives_what_a_walk_would_find(root, path, edit):
    last = scan(root)
    edit(root / path)
    assert again(root, last, path) == scan(root)


def test_several_edits_at_once(root):
    last = scan(root)
    (root / "a.py").write_text("y = 22\n")
    (root / "pkg/b.py").unlink()
    assert again(root, last, "pkg/b.py", "a.py") == scan(root)


def test_a_file_saved_through_another_one_is_an_edit(root):
    last = scan(root)
    (root / "a.py~").write_text("y = 333\n")
    (root / "a.py~").replace(root / "a.py")
    assert again(root, last, "a.py~", "a.py") == scan(root)


def test_nothing_edited_is_the_last_scan(root):
    last = scan(root)
    assert again(root, last) == last


@pytest.mark.parametrize("path", ["new.py", "pkg/new.py", "debug.log", ".gitignore", "pkg"])
def test_what_only_a_walk_can_tell_is_left_to_it(root, path):
    """A new file may be ignored, an ignore file changes what is, and of a folder only a walk knows the files."""
    last = scan(root)
    if path != "pkg":
        (root / path).write_text("*.py\n")
    assert again(root, last, path) is None


def test_a_folder_that_is_gone_is_left_to_a_walk(root):
    last = scan(root)
    (root / "pkg").rename(root.parent / "elsewhere")
    assert again(root, last, "pkg") is None


def test_a_file_that_became_too_large_or_no_file_is_left_to_a_walk(root):
    last = scan(root)
    (root / "a.py").write_text("x" * (LIMIT + 1))
    assert again(root, last, "a.py") is None
    (root / "a.py").unlink()
    (root / "a.py").mkdir()
    assert again(root, last, "a.py") is None
