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
def test_rescan_after_edit_or_deletion_equals_a_walk(root, path, edit):
    last = scan(root)
    edit(root / path)
    assert again(root, last, path) == scan(root)


def test_several_edits_at_once(root):
    last = scan(root)
    (root / "a.py").write_text("y = 22\n")
    (root / "pkg/b.py").unlink()
    assert again(root, last, "pkg/b.py", "a.py") == scan(root)


def test_atomically_saved_file_is_an_edit(root):
    last = scan(root)
    (root / "a.py~").write_text("y = 333\n")
    (root / "a.py~").replace(root / "a.py")
    assert again(root, last, "a.py~", "a.py") == scan(root)


def test_rescan_without_edits_equals_the_last_scan(root):
    last = scan(root)
    assert again(root, last) == last


@pytest.mark.parametrize("path", ["new.py", "pkg/new.py", "debug.log", ".gitignore", "pkg"])
def test_unsupported_edits_require_a_walk(root, path):
    """A new file may be ignored, an ignore file changes what is, and of a folder only a walk knows the files."""
    last = scan(root)
    if path != "pkg":
        (root / path).write_text("*.py\n")
    assert again(root, last, path) is None


def test_removed_folder_requires_a_walk(root):
    last = scan(root)
    (root / "pkg").rename(root.parent / "elsewhere")
    assert again(root, last, "pkg") is None


def test_oversized_or_replaced_file_requires_a_walk(root):
    last = scan(root)
    (root / "a.py").write_text("x" * (LIMIT + 1))
    assert again(root, last, "a.py") is None
    (root / "a.py").unlink()
    (root / "a.py").mkdir()
    assert again(root, last, "a.py") is None
