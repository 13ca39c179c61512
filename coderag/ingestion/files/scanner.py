"""Repository scan: candidates for indexing, and ignored and skipped files with reasons.

Git's rules and ``.coderagignore`` decide (see `ignore`). Files that git tracks are included even if a git pattern matches
them. Files outside the root are not accessed, and links are not followed. Every file is a candidate, is skipped or failed
with a reason, or is (part of) an ignored path.
"""

import errno
import os
import stat
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from coderag.config.file_names import FILE_NAMES
from coderag.config.repository_root import resolve_folder
from coderag.errors import IngestionError
from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.file_text import MAX_FILE_BYTES, explain_size_limit
from coderag.ingestion.files.git_repository import GitRepository, run_git
from coderag.ingestion.files.ignore import MARKERS, IgnoreRules
from coderag.ingestion.files.regular_files import describe_os_error
from coderag.ingestion.files.roles import classify_role
from coderag.schema.chunks import FileRecord
from coderag.schema.vocabulary import Outcome


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EXCLUDED_DIRECTORIES = _split_words(".git .hg .svn .coderag")


_EXCLUDED_FILES = frozenset({".git", *FILE_NAMES})  # a worktree's link to its repository; CodeRAG's own settings


_EXCLUDED_REASON = "always left out"


_DERIVED_DIRECTORIES = _split_words(
    "node_modules __pycache__ .venv venv .tox .mypy_cache .pytest_cache .ruff_cache .eggs .gradle .next .cache"
)


_DERIVED_REASON = "dependencies or caches, not tracked by git"


_LOCK_FILES = _split_words(
    """package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock poetry.lock
    pipfile.lock pdm.lock uv.lock pixi.lock conda-lock.yml cargo.lock gemfile.lock composer.lock go.sum go.work.sum
    flake.lock mix.lock pubspec.lock podfile.lock package.resolved packages.lock.json cartfile.resolved gradle.lockfile
    .terraform.lock.hcl"""
)


_MINIFIED_ENDINGS = (".min.js", ".min.mjs", ".min.css", ".js.map", ".css.map", ".mjs.map")


_BINARY_SUFFIXES = _split_words(
    """7z a aac ai apk avi avif bin bmp br bz2 ckpt class crx cur db deb dll dmg doc docx dylib egg eot eps exe feather
    flac flv gguf gif glb gz h5 heic icns ico img iso jar jpeg jpg jks keystore ko lib lz4 lzma m4a m4v mkv mov mp3 mp4
    mpeg mpg msi nib node npy npz o obj odp ods odt ogg onnx otf p12 parquet pb pdb pdf pfx pickle pkl png ppt pptx psd
    pt pth pyc pyd pyo rar rlib rpm safetensors so sqlite sqlite3 swf tar tgz tif tiff ttf war wasm wav webm webp wmv
    woff woff2 xls xlsx xz zip zst"""
)


_SPECIAL_KINDS = (
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


_HAS_CHANGE_TIME = os.name != "nt"


_JUNCTION_TAG = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT; the stat module has it on Windows only


@dataclass(frozen=True, slots=True)
class Scan:
    """Result of a walk.

    Attributes:
        candidates: Candidates, sorted by path.
        skipped: Files that are skipped without reading, and directories (ending in ``/``) that cannot be listed, sorted by
            path.
        ignored: ``(path, reason)`` of paths that the rules exclude; a directory ends in ``/`` and is not entered.
    """

    candidates: list[FileCandidate] = field(default_factory=list)
    skipped: list[FileRecord] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)


def make_candidate(path: str, status: os.stat_result) -> FileCandidate:
    """Make the candidate of a file from its status."""
    ctime_ns = status.st_ctime_ns if _HAS_CHANGE_TIME else 0
    return FileCandidate(path, status.st_size, status.st_mtime_ns, status.st_ino, ctime_ns)


def is_never_scanned(folder_name: str) -> bool:
    """Return whether a folder of this name is not entered unless git tracks files in it."""
    return folder_name in _EXCLUDED_DIRECTORIES or folder_name in _DERIVED_DIRECTORIES


def check_root(path: Path) -> Path:
    """Return the real path of a directory, if it may be indexed.

    Raises:
        IngestionError: The directory does not exist, cannot be read, or is one that is never indexed.
    """
    root = resolve_folder(path)
    _reject_unsafe_root(root)
    return root


def _reject_unsafe_root(root: Path) -> None:
    if root == root.parent:
        raise IngestionError(
            f"{root}: the root of the file system is never indexed", hint="Specify a repository below it."
        )
    home = _find_home()
    if root == home:
        raise IngestionError(f"{root}: the home directory is never indexed", hint="Specify a repository below it.")
    if home.is_relative_to(root):
        message = f"{root}: never indexed, as the home directory {home} is in it"
        raise IngestionError(message, hint="Specify a repository, or a folder without the home directory.")
    if (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir():
        raise IngestionError(
            f"{root}: a git directory, not a working tree", hint="Specify a directory with checked-out files."
        )


def _find_home() -> Path:
    try:
        return Path.home().resolve()
    except RuntimeError:  # no home directory
        return Path(os.sep)


def scan(
    root: Path, *, max_file_bytes: int = MAX_FILE_BYTES, exclude: Sequence[str] = (), deadline: float | None = None
) -> Scan:
    """Scan the files below a root, as returned by `check_root`.

    Args:
        root: Folder to scan.
        max_file_bytes: Larger files are skipped.
        exclude: Further patterns in gitignore syntax, relative to the root; they override ignore files.
        deadline: Time at which to stop, on the clock of `time.monotonic`; the upper folders are scanned first.
    """
    walk = _DirectoryWalk(root, max_file_bytes, exclude)
    walk.run(deadline)
    result = walk.result
    result.candidates.sort(key=attrgetter("path"))
    result.skipped.sort(key=attrgetter("path"))
    result.ignored.sort()
    return result


class _PendingDirectory(NamedTuple):
    """A directory to visit.

    Attributes:
        prefix: Its path relative to the root with a trailing ``/``; empty for the root.
        rules: Rules of its parent; after it is entered, its own rules.
        tracked: Paths that git tracks although rules match them, and the directories above them; relative to the root.
        inherited_reason: Reason why all but tracked files in it are ignored; empty if there is none.
    """

    entry: "os.DirEntry[str] | Path"
    prefix: str
    rules: IgnoreRules
    tracked: Collection[str]
    inherited_reason: str = ""


class _DirectoryWalk:
    """A walk in progress."""

    def __init__(self, root: Path, max_file_bytes: int, exclude: Sequence[str]) -> None:
        self.result = Scan()
        self._root = root
        self._limit = max_file_bytes
        self._pending: list[_PendingDirectory] = []
        rules = IgnoreRules.load_for_root(root, exclude)
        self._visit_entries(_PendingDirectory(root, "", rules, _list_tracked_despite_rules(root, "", rules.repository)))

    def run(self, deadline: float | None = None) -> None:
        """Visit directories until none is left, or the deadline passes; with a deadline, breadth first."""
        position = -1 if deadline is None else 0
        while self._pending and (deadline is None or time.monotonic() < deadline):
            self._visit_entries(self._pending.pop(position))

    def _visit_entries(self, directory: _PendingDirectory) -> None:
        try:
            entries = _list_entries(directory.entry)
        except OSError as error:
            self._skip(directory.prefix or "./", "failed", describe_os_error(error))
            return
        entered = self._enter(directory, MARKERS.intersection([entry.name for entry in entries]))
        if entered is None:
            return
        while entries:
            entry = entries.pop()  # each entry holds its status until it is released
            try:
                self._visit(entered, entry)
            except OSError as error:  # removed meanwhile, or not accessible
                self._skip(entered.prefix + entry.name, "failed", describe_os_error(error))

    def _enter(self, directory: _PendingDirectory, markers: Collection[str]) -> _PendingDirectory | None:
        """Return a directory with its own rules, or None if it is another worktree of an indexed repository."""
        if isinstance(directory.entry, Path):  # the root
            return directory
        outer = directory.rules.repository
        rules = directory.rules.enter_directory(directory.entry, markers)
        inner = rules.repository
        if inner is None or inner is outer:
            return directory._replace(rules=rules)
        if outer and inner.common_dir == outer.common_dir:
            self.result.ignored.append((directory.prefix, "another worktree of this repository"))
            return None
        tracked = _list_tracked_despite_rules(inner.top, directory.prefix, inner)
        return directory._replace(rules=rules, tracked=tracked, inherited_reason="")

    def _visit(self, directory: _PendingDirectory, entry: "os.DirEntry[str]") -> None:
        path = directory.prefix + entry.name
        if not path.isascii() and not _is_unicode(entry.name):
            self._skip(path, "skipped", "name is not valid UTF-8")
            return
        is_dir = entry.is_dir(follow_symlinks=False)
        if reason := _find_ignore_reason(directory, entry.name, is_dir=is_dir):
            self.result.ignored.append((f"{path}/" if is_dir else path, reason))
        elif entry.is_symlink() or (is_dir and _is_junction(entry)):
            self._skip(path, "skipped", self._explain_link(entry))
        elif is_dir:
            inherited_reason = directory.inherited_reason or (
                path in directory.tracked and _find_untracked_reason(directory, entry.name)
            )
            self._pending.append(
                directory._replace(entry=entry, prefix=f"{path}/", inherited_reason=inherited_reason or "")
            )
        else:
            self._add_file(path, entry)

    def _add_file(self, path: str, entry: "os.DirEntry[str]") -> None:
        status = entry.stat(follow_symlinks=False)
        if reason := _find_skip_reason(entry.name.lower(), status, self._limit):
            self._skip(path, "skipped", reason, status)
        else:
            self.result.candidates.append(make_candidate(path, status))

    def _explain_link(self, entry: "os.DirEntry[str]") -> str:
        try:
            target = Path(entry.path).resolve(strict=True)
        except (OSError, RuntimeError):  # missing target, or a loop
            return "broken symbolic link"
        if not target.is_relative_to(self._root):
            return "symbolic link outside the repository"
        return _to_printable(f"symbolic link to {target.relative_to(self._root).as_posix()}")

    def _skip(self, path: str, outcome: Outcome, reason: str, status: os.stat_result | None = None) -> None:
        size, mtime_ns = (status.st_size, status.st_mtime_ns) if status else (0, 0)
        path = _to_printable(path)
        self.result.skipped.append(
            FileRecord(path, outcome, reason, size=size, mtime_ns=mtime_ns, role=classify_role(path))
        )


def _list_entries(directory: "os.DirEntry[str] | Path") -> list["os.DirEntry[str]"]:
    """List the entries of a directory.

    Raises:
        OSError: The directory cannot be listed, or has become a link meanwhile.
    """
    with os.scandir(directory) as listing:
        entries = list(listing)
    if stat.S_ISLNK(os.lstat(directory).st_mode):  # the entry caches its earlier type
        raise OSError(errno.ELOOP, "is a symbolic link", os.fspath(directory))
    return entries


def _find_ignore_reason(directory: _PendingDirectory, name: str, *, is_dir: bool) -> str | None:
    if name in (_EXCLUDED_DIRECTORIES if is_dir else _EXCLUDED_FILES):
        return _EXCLUDED_REASON
    if directory.prefix + name in directory.tracked:
        return directory.rules.find_ignore_reason(name, is_dir, tracked=True)
    return directory.inherited_reason or _find_untracked_reason(directory, name, is_dir=is_dir)


def _find_untracked_reason(directory: _PendingDirectory, name: str, *, is_dir: bool = True) -> str | None:
    if is_dir and name in _DERIVED_DIRECTORIES:
        return _DERIVED_REASON
    return directory.rules.find_ignore_reason(name, is_dir)


def _find_skip_reason(name: str, status: os.stat_result, limit: int) -> str:
    """Return the reason to skip a file, by its lower-case name and status; empty if there is none."""
    if not stat.S_ISREG(status.st_mode):
        return next((kind for is_kind, kind in _SPECIAL_KINDS if is_kind(status.st_mode)), "not a regular file")
    if name in _LOCK_FILES:
        return "lock file"
    if name.endswith(_MINIFIED_ENDINGS):
        return "minified file"
    if name.rpartition(".")[2] in _BINARY_SUFFIXES:
        return "binary file"
    return explain_size_limit(limit) if status.st_size > limit else ""


def _is_junction(entry: "os.DirEntry[str]") -> bool:
    """Return whether a directory is a Windows junction, which Python 3.11 does not report as a link."""
    return os.name == "nt" and getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) == _JUNCTION_TAG


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes outside UTF-8 are lone surrogates here
        return False
    return True


def _to_printable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _list_tracked_despite_rules(directory: Path, prefix: str, repository: GitRepository | None) -> Collection[str]:
    """List the paths that git tracks although a rule ignores them, and the directories above them."""
    if repository is None:
        return frozenset()
    derived_arguments = [argument for name in sorted(_DERIVED_DIRECTORIES) for argument in ("-x", f"{name}/")]
    listed = run_git(directory, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard", *derived_arguments)
    tracked: set[str] = set()
    for file in os.fsdecode(listed or b"").split("\0"):
        path = file
        while path and prefix + path not in tracked:
            tracked.add(prefix + path)
            path = path.rpartition("/")[0]
    return frozenset(tracked)
