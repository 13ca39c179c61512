"""What a scan of a real tree finds, and what becomes of everything it does not."""

import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from coderag.errors import IngestionError
from coderag.ingestion.files import scanner
from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.scanner import Scan, check_root, scan
from coderag.system import git as system_git

NOBODY = 65534

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
posix_names = pytest.mark.skipif(os.name != "posix", reason="such names exist on POSIX only")


def git(directory: Path, *arguments: str) -> str:
    command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, check=True, text=True).stdout


def put(root: Path, path: str, content: str = "x\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
    return file


def paths(found: Scan) -> list[str]:
    return [candidate.path for candidate in found.candidates]


def reasons(found: Scan) -> dict[str, str]:
    return {record.path: record.reason for record in found.skipped}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "-q")
    return root


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a directory that another user may enter, unlike pytest's own."""
    directory = Path(tempfile.mkdtemp()).resolve()
    directory.chmod(0o755)
    yield directory
    for path in directory.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(directory)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Give up root's privilege of reading everything, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


# ---- without git ------------------------------------------------------------------------------


def test_candidates_come_sorted_with_their_status(root: Path) -> None:
    for path in ("b.py", "a/z.py", "a.py", "README.md"):
        put(root, path)
    found = scan(root)
    status = (root / "a/z.py").stat()
    assert paths(found) == ["README.md", "a.py", "a/z.py", "b.py"]
    inode, ctime_ns = (status.st_ino, status.st_ctime_ns) if os.name == "posix" else (0, 0)
    assert found.candidates[2] == FileCandidate("a/z.py", 2, status.st_mtime_ns, inode, ctime_ns)


@pytest.mark.skipif(os.name != "posix", reason="no time of change there")
def test_file_replaced_within_its_size_and_time_differs(root: Path) -> None:
    before = put(root, "a.py", "x = 1\n").stat()
    (old,) = scan(root).candidates
    put(root, "b.py", "x = 2\n").replace(root / "a.py")
    os.utime(root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    (new,) = scan(root).candidates
    assert (new.size, new.mtime_ns) == (old.size, old.mtime_ns)
    assert new.inode != old.inode
    assert new.ctime_ns >= old.ctime_ns


def test_windows_has_no_change_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "_HAS_CHANGE_TIME", False)
    put(root, "a.py")
    assert scan(root).candidates[0].ctime_ns == 0


def test_empty_directory_has_an_empty_scan(root: Path) -> None:
    assert scan(root) == Scan()


def test_ignore_files_apply_without_a_repository(root: Path) -> None:
    put(root, ".gitignore", "*.log\nout/\n")
    put(root, ".coderagignore", "secret.py\n")
    put(root, "src/.gitignore", "!keep.log\n")
    for path in ("a.log", "out/a.py", "secret.py", "src/keep.log", "src/b.log", "src/secret.py", "src/a.py"):
        put(root, path)
    found = scan(root)
    assert paths(found) == [".coderagignore", ".gitignore", "src/.gitignore", "src/a.py", "src/keep.log"]
    assert found.ignored == [
        ("a.log", "ignored by .gitignore: *.log"),
        ("out/", "ignored by .gitignore: out/"),
        ("secret.py", "ignored by .coderagignore: secret.py"),
        ("src/b.log", "ignored by .gitignore: *.log"),
        ("src/secret.py", "ignored by .coderagignore: secret.py"),
    ]


def test_settings_override_ignore_files(root: Path) -> None:
    put(root, ".gitignore", "*.gen\n")
    for path in ("a.gen", "data/a.csv", "src/data/b.csv", "a.py"):
        put(root, path)
    found = scan(root, exclude=["/data/", "!*.gen"])
    assert paths(found) == [".gitignore", "a.gen", "a.py", "src/data/b.csv"]
    assert found.ignored == [("data/", "excluded by the settings: /data/")]


def test_own_and_derived_directories_are_always_ignored(root: Path) -> None:
    put(root, ".gitignore", "!*\n")
    for name in (
        ".git",
        ".hg",
        ".svn",
        ".coderag",
        "node_modules",
        "a/__pycache__",
        ".venv",
        "venv",
        ".tox",
        "a/.cache",
    ):
        put(root, f"{name}/a.py")
    for path in ("build/a.py", "dist/a.py", "target/a.py", ".coderag.local.yaml", ".coderag.yaml", "a/venv.py"):
        put(root, path)
    found = scan(root)
    assert paths(found) == [".gitignore", "a/venv.py", "build/a.py", "dist/a.py", "target/a.py"]
    assert dict(found.ignored)[".coderag/"] == "always left out"
    assert dict(found.ignored)["a/__pycache__/"] == "dependencies or caches, not tracked by git"
    assert len(found.ignored) == 12


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("package-lock.json", "lock file"),
        ("Cargo.lock", "lock file"),
        ("poetry.lock", "lock file"),
        ("jquery.min.js", "minified file"),
        ("app.js.map", "minified file"),
        ("logo.PNG", "binary file"),
        ("lib.so", "binary file"),
        ("big.py", "larger than 10 bytes"),
    ],
)
def test_files_are_skipped_unread_by_name_or_size(root: Path, name: str, reason: str) -> None:
    put(root, name, "x" * 11)
    (record,) = scan(root, max_file_bytes=10).skipped
    assert (record.path, record.outcome, record.reason, record.size) == (name, "skipped", reason, 11)
    assert record.mtime_ns == (root / name).stat().st_mtime_ns


def test_file_of_exactly_the_limit_is_a_candidate(root: Path) -> None:
    put(root, "a.py", "x" * 10)
    assert paths(scan(root, max_file_bytes=10)) == ["a.py"]


def test_links_are_not_followed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = put(tmp_path_factory.mktemp("outside"), "secret.py")
    put(root, "src/x.py")
    for name, target in {
        "inside.py": "src/x.py", "directory": "src", "loop": ".", "src/up": "..", "self": "self",
        "one": "two", "two": "one",
        "broken": "nowhere", "outside.py": str(outside), "outside": str(outside.parent),
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    found = scan(root)
    assert paths(found) == ["src/x.py"]
    assert reasons(found) == {
        "broken": "broken symbolic link",
        "directory": "symbolic link to src",
        "inside.py": "symbolic link to src/x.py",
        "loop": "symbolic link to .",
        "one": "broken symbolic link",
        "outside": "symbolic link outside the repository",
        "outside.py": "symbolic link outside the repository",
        "self": "broken symbolic link",
        "src/up": "symbolic link to .",
        "two": "broken symbolic link",
    }


def test_directory_pattern_does_not_match_a_link_to_a_directory(root: Path) -> None:
    put(root, ".gitignore", "linked/\n")
    put(root, "src/a.py")
    (root / "linked").symlink_to("src")
    assert reasons(scan(root)) == {"linked": "symbolic link to src"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_special_files_are_skipped(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    os.mkfifo(root / ".gitignore")  # must not block either
    monkeypatch.chdir(root)  # the address of a socket is limited to about 100 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert reasons(scan(root)) == {".gitignore": "named pipe", "pipe": "named pipe", "socket": "socket"}


@pytest.mark.skipif(not hasattr(os, "mknod"), reason="no device files here")
def test_devices_are_skipped(root: Path) -> None:
    try:
        os.mknod(root / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.mknod(root / "disk", stat.S_IFBLK | 0o600, os.makedev(7, 200))
    except PermissionError:
        pytest.skip("only root may make devices")
    assert reasons(scan(root)) == {"disk": "device", "null": "device"}


@posix_names
def test_any_valid_name_is_included(root: Path) -> None:
    names = [
        "a b.py", " a.py", "a.py ", "a.py.", "...", "a\nb.py", "a\tb.py", "a\rb.py", "a\"'`$b.py", "a\\b.py", "été.py",
        "日本.py", "🦀.py", "👩‍👩‍👧.py", "-rf.py", "*.py", "[a].py", "?.py", "!a.py", "#a.py", "x" * 252 + ".py",
    ]  # fmt: skip
    for name in names:
        put(root, name)
    found = scan(root)
    assert paths(found) == sorted(names)
    assert found.skipped == []


@posix_names
def test_pattern_does_not_match_a_homoglyph_name(root: Path) -> None:
    put(root, ".gitignore", "\\*.py\n[[]a].py\n")
    for name in ("*.py", "[a].py", "a.py", "b.py"):
        put(root, name)
    assert paths(scan(root)) == [".gitignore", "a.py", "b.py"]


@pytest.mark.parametrize(
    ("one", "other"), [("readme.py", "README.py"), ("\u00e9.py", "e\u0301.py")], ids=["letter case", "NFC and NFD"]
)
def test_lookalike_names_are_listed_separately(root: Path, one: str, other: str) -> None:
    put(root, f"{one[0]}/{one}")
    put(root, f"{one[0]}/{other}")
    existing = [f"{folder.name}/{name}" for folder in root.iterdir() for name in os.listdir(folder)]  # noqa: PTH208
    assert paths(scan(root)) == sorted(existing)
    assert len(existing) == (1 if (root / one[0] / one).samefile(root / one[0] / other) else 2)


@posix_names
def test_folders_beyond_the_path_limit_fail(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "d/a.py")
    monkeypatch.chdir(root / "d")
    for _ in range(3_000):
        Path("d").mkdir()
        os.chdir("d")
    put(Path(), "deep.py")
    os.chdir(root)
    try:
        found = scan(root)
    finally:  # pytest's own cleaning recurses
        Path("d/a.py").unlink()
        while Path("d/d").exists():
            Path("d/d").rename("below")
            Path("d").rmdir()
            Path("below").rename("d")
    assert paths(found) == ["d/a.py"]
    (record,) = found.skipped
    assert (record.outcome, record.reason) == ("failed", "file name too long")
    assert record.path.startswith("d/d/d/")


@posix_names
def test_undecodable_names_are_skipped_and_printable(root: Path) -> None:
    try:
        (root / os.fsdecode(b"caf\xe9.py")).touch()
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    put(root, os.fsdecode(b"d\xe9/a.py"))
    (root / "link").symlink_to(os.fsdecode(b"caf\xe9.py"))
    found = scan(root)
    assert found.candidates == []
    assert reasons(found) == {
        "caf\\udce9.py": "name is not valid UTF-8",
        "d\\udce9": "name is not valid UTF-8",
        "link": "symbolic link to caf\\udce9.py",
    }


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_unreadable_directory_fails_and_the_rest_is_scanned(shared: Path) -> None:
    put(shared, "a.py")
    put(shared, "locked/b.py")
    put(shared, "unsearchable/c.py")
    (shared / "locked").chmod(0)
    (shared / "unsearchable").chmod(0o444)
    with ordinary_user():
        found = scan(shared)
    assert paths(found) == ["a.py"]
    assert {(record.path, record.outcome, record.reason) for record in found.skipped} == {
        ("locked/", "failed", "permission denied"),
        ("unsearchable/c.py", "failed", "permission denied"),
    }


def test_entry_removed_during_the_scan_fails(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "a.py")
    put(root, "gone.py")
    put(root, "d/b.py")
    listing = os.scandir

    @contextmanager
    def vanishing(path: "os.DirEntry[str] | Path") -> Iterator[object]:
        with listing(path) as entries:
            kept = list(entries)
        if Path(path) == root:
            (root / "gone.py").unlink()
            (root / "d" / "b.py").unlink()
            (root / "d").rmdir()
        yield kept

    monkeypatch.setattr(scanner.os, "scandir", vanishing)
    found = scan(root)
    assert paths(found) == ["a.py"]
    assert {(record.path, record.outcome) for record in found.skipped} == {("d/", "failed"), ("gone.py", "failed")}


def test_folder_that_becomes_a_link_during_the_scan_is_not_followed(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = put(tmp_path_factory.mktemp("outside"), "secret.py").parent
    put(root, "d/a.py")
    listing = os.scandir

    def replacing(path: "os.DirEntry[str] | Path") -> object:
        if Path(path) == root / "d":
            (root / "d").rename(outside / "moved")
            (root / "d").symlink_to(outside)
        return listing(path)

    monkeypatch.setattr(scanner.os, "scandir", replacing)
    found = scan(root)
    assert found.candidates == []
    assert reasons(found) == {"d/": "is a symbolic link"}


def test_removed_root_fails(root: Path) -> None:
    (record,) = scan(root / "gone").skipped
    assert (record.path, record.outcome, record.reason) == ("./", "failed", "no such file or directory")


def test_windows_junctions_count_as_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(tag: int) -> SimpleNamespace:
        return SimpleNamespace(stat=lambda follow_symlinks: SimpleNamespace(st_reparse_tag=tag))

    assert not scanner._is_junction(entry(0xA0000003))
    monkeypatch.setattr(scanner, "os", SimpleNamespace(name="nt"))
    assert scanner._is_junction(entry(0xA0000003))
    assert not scanner._is_junction(entry(0))


# ---- with git ---------------------------------------------------------------------------------


@needs_git
def test_scan_keeps_what_git_would_show(repository: Path, home: Path) -> None:
    put(home, ".config/git/ignore", "*.swp\n")
    put(repository, ".git/info/exclude", "local/\n")
    put(repository, ".gitignore", "*.log\n!important.log\n/out\ndocs/_build/\n")
    put(repository, "src/.gitignore", "gen_*\n!gen_keep.py\n")
    files = """a.py a.log important.log a.swp out/a.py src/out/b.py local/a.py docs/_build/a.html docs/a.md src/gen_a.py
        src/gen_keep.py"""
    for path in files.split():
        put(repository, path)
    shown = git(repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    assert paths(scan(repository)) == sorted(filter(None, shown))


@needs_git
def test_scan_is_the_same_without_the_git_binary(repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home, ".config/git/ignore", "*.swp\n")
    put(repository, ".git/info/exclude", "local\n")
    for path in ("a.py", "a.swp", "local"):
        put(repository, path)
    with_git = scan(repository)
    monkeypatch.setattr(system_git.shutil, "which", lambda name: None)
    assert scan(repository) == with_git
    assert paths(with_git) == ["a.py"]


@needs_git
def test_tracked_files_are_kept_though_patterns_match(repository: Path) -> None:
    put(repository, ".gitignore", "*.log\nout/\n")
    put(repository, ".coderagignore", "private.log\n")
    for path in ("kept.log", "private.log", "out/deep/kept.py", "node_modules/own/kept.js", ".venv/kept.py"):
        put(repository, path)
    git(repository, "add", "--force", ".")
    for path in ("other.log", "out/other.py", "out/deep/other.py", "node_modules/other.js"):
        put(repository, path)
    found = scan(repository)
    assert paths(found) == [
        ".coderagignore", ".gitignore", ".venv/kept.py", "kept.log", "node_modules/own/kept.js", "out/deep/kept.py",
    ]  # fmt: skip
    assert found.ignored[1:] == [
        ("node_modules/other.js", "dependencies or caches, not tracked by git"),
        ("other.log", "ignored by .gitignore: *.log"),
        ("out/deep/other.py", "ignored by .gitignore: out/"),
        ("out/other.py", "ignored by .gitignore: out/"),
        ("private.log", "ignored by .coderagignore: private.log"),
    ]


@needs_git
def test_directory_of_a_repository_is_scanned_with_the_rules_above_it(repository: Path) -> None:
    put(repository, ".gitignore", "*.log\n/src/gen/\n")
    for path in ("src/a.py", "src/a.log", "src/kept.log", "src/gen/b.py", "other.py"):
        put(repository, path)
    git(repository, "add", "--force", "src/kept.log")
    found = scan(repository / "src")
    assert paths(found) == ["a.py", "kept.log"]
    assert found.ignored == [
        ("a.log", "ignored by ../.gitignore: *.log"),
        ("gen/", "ignored by ../.gitignore: /src/gen/"),
    ]


@needs_git
def test_submodule_is_scanned_with_its_own_rules(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    library = tmp_path_factory.mktemp("library")
    git(library, "init", "-q")
    put(library, ".gitignore", "*.tmp\n")
    put(library, "kept.tmp")
    put(library, "a.py")
    git(library, "add", "--force", ".")
    git(library, "commit", "-q", "-m", "x")
    put(repository, ".gitignore", "*.log\n/sub/a.py\n")
    put(repository, ".coderagignore", "b.py\n")
    git(repository, "submodule", "--quiet", "add", str(library), "sub")
    put(repository, ".git/modules/sub/info/exclude", "local.py\n")
    for path in ("sub/a.log", "sub/a.tmp", "sub/b.py", "sub/local.py"):
        put(repository, path)
    found = scan(repository)
    assert (repository / "sub" / ".git").is_file()
    assert paths(found) == [
        ".coderagignore",
        ".gitignore",
        ".gitmodules",
        "sub/.gitignore",
        "sub/a.log",
        "sub/a.py",
        "sub/kept.tmp",
    ]
    assert dict(found.ignored) == {
        ".git/": "always left out",
        "sub/.git": "always left out",
        "sub/a.tmp": "ignored by sub/.gitignore: *.tmp",
        "sub/b.py": "ignored by .coderagignore: b.py",
        "sub/local.py": "ignored by .git/info/exclude: local.py",
    }


@needs_git
def test_worktree_has_the_excludes_of_its_repository(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    put(repository, "a.py")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "x")
    put(repository, ".git/info/exclude", "local.py\n")
    worktree = (tmp_path_factory.mktemp("trees") / "w").resolve()
    git(repository, "worktree", "add", "-q", str(worktree))
    put(worktree, "local.py")
    put(worktree, "b.py")
    found = scan(worktree)
    assert paths(found) == ["a.py", "b.py"]
    assert found.ignored == [(".git", "always left out"), ("local.py", "ignored by .git/info/exclude: local.py")]


@needs_git
def test_worktree_inside_its_repository_is_not_scanned_twice(repository: Path) -> None:
    put(repository, "a.py")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "x")
    git(repository, "worktree", "add", "-q", "trees/w")
    found = scan(repository)
    assert paths(found) == ["a.py"]
    assert ("trees/w/", "another worktree of this repository") in found.ignored


@needs_git
@posix_names
def test_undecodable_tracked_names_are_handled(repository: Path) -> None:
    put(repository, ".gitignore", "*.log\n")
    try:
        put(repository, os.fsdecode(b"caf\xe9.log"))
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    put(repository, "été\n.log")
    git(repository, "add", "--force", ".")
    found = scan(repository)
    assert paths(found) == [".gitignore", "été\n.log"]
    assert reasons(found) == {"caf\\udce9.log": "name is not valid UTF-8"}


# ---- roots ------------------------------------------------------------------------------------


def test_root_is_resolved(root: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    (home / "project").mkdir()
    monkeypatch.chdir(root)
    assert check_root(Path("link")) == root / "real"
    assert check_root(Path("~/project")) == (home / "project").resolve()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "no such directory"),
        ("file", "not a directory"),
        ("file/below", "not a directory"),
        ("loop", "cannot be opened"),
        ("nul\0", "cannot be opened"),
    ],
)
def test_root_that_is_not_a_directory_is_rejected_with_a_hint(root: Path, name: str, words: str) -> None:
    (root / "file").touch()
    (root / "loop").symlink_to("loop")
    with pytest.raises(IngestionError, match=words) as caught:
        check_root(root / name)
    assert caught.value.hint


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111])
def test_root_without_permission_is_rejected(shared: Path, mode: int) -> None:
    (shared / "locked").mkdir()
    (shared / "locked").chmod(mode)
    with ordinary_user(), pytest.raises(IngestionError, match="permission denied") as caught:
        check_root(shared / "locked")
    assert caught.value.hint


def test_home_and_its_parents_are_rejected(home: Path) -> None:
    with pytest.raises(IngestionError, match=f"{home.parent}: never indexed, as the home directory {home} is in it"):
        check_root(home.parent)
    for path in (home, Path("~")):
        with pytest.raises(IngestionError, match="the home directory is never indexed"):
            check_root(path)
    with pytest.raises(IngestionError, match="root of the file system"):
        check_root(Path(home.anchor))


def test_home_behind_a_link_is_rejected(root: Path, home: Path) -> None:
    (root / "link").symlink_to(home)
    with pytest.raises(IngestionError, match="home directory"):
        check_root(root / "link")


def test_user_without_a_home_can_index(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(scanner.Path, "home", no_home)
    assert check_root(root) == root


@needs_git
def test_git_directory_is_rejected(repository: Path) -> None:
    with pytest.raises(IngestionError, match="a git directory"):
        check_root(repository / ".git")


def test_walk_past_its_deadline_returns_the_upper_folders(root: Path) -> None:
    (root / "top.py").write_text("x = 1\n")
    (root / "deep").mkdir()
    (root / "deep" / "low.py").write_text("x = 1\n")
    assert [candidate.path for candidate in scan(root, deadline=0.0).candidates] == ["top.py"]
    whole = scan(root, deadline=float("inf"))
    assert [candidate.path for candidate in whole.candidates] == ["deep/low.py", "top.py"]
