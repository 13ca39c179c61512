"""Files of a commit, changed one at a time and each at once, so that no reader sees half a file.

Git writes them to a staging folder, without filters, links and submodules; from there they are moved. A marker exists while
the folder is changed; after a crash all files are written again.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from coderag.errors import GitFetchError
from coderag.server.repositories.git_runner import GitRunner
from coderag.system.atomic_write import atomic_write

MAX_FILES: Final = 1_000_000
_INDEX_FOLDER: Final = ".coderag"
_GIT_LINK: Final = ".git"
_BLOB_MODES: Final = (b"100644", b"100755", b"120000")
_BLOCK_BYTES: Final = 1 << 16
_CHECK_INTERVAL: Final = 256


class Checkout:
    """Files of one commit of a mirror.

    Args:
        folder: Folder of the repository.
        git: Bare repository of the mirror.
        max_bytes: Maximum size of the files together.
    """

    def __init__(self, folder: Path, git: Path, max_bytes: int) -> None:
        self._folder = folder
        self._git = git
        self._max_bytes = max_bytes
        self._files = folder / "checkout"
        self._staging = folder / "staging"
        self._staged_index = folder / "staging.index"
        self._marker = folder / "updating"
        self._worktree = git / "worktrees" / "checkout"

    @property
    def commit(self) -> str:
        """Commit of the files; empty if they are incomplete."""
        if self._marker.exists() or not (self._files / _GIT_LINK).exists():
            return ""
        try:
            return (self._worktree / "HEAD").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""

    @property
    def is_present(self) -> bool:
        """Return whether all files of some commit were there once; they may be changing."""
        return (self._files / _GIT_LINK).exists()

    def forget_commit(self) -> None:
        """Mark the files as incomplete, so that the next update writes them all."""
        self._marker.touch()

    def update(self, commit: str, runner: GitRunner) -> None:
        """Change the files to those of a commit.

        Raises:
            GitFetchError: The commit has too many or too large files.
        """
        previous = self.commit
        if previous == commit:
            return
        blobs = self._list_blobs(commit, runner)
        changed = blobs if not previous else blobs & self._list_changes(previous, commit, runner)
        self._stage(commit, changed, runner)
        self.forget_commit()
        self._files.mkdir(exist_ok=True)
        self._remove_others(blobs)
        self._move(changed, runner)
        self._link(commit)
        self._marker.unlink()

    def _list_blobs(self, commit: str, runner: GitRunner) -> frozenset[bytes]:
        """List the paths of the files of a commit; refuse too many, or too large ones."""
        names, size = set(), 0
        arguments = [f"--git-dir={self._git}", "ls-tree", "-r", "-l", "-z", "--full-tree", commit]
        with runner.open_output(self._folder, arguments) as output:
            for line in _split_records(output):
                head, _, name = line.partition(b"\t")
                mode, _, _, length = head.split()
                if mode not in _BLOB_MODES or _is_reserved(name):
                    continue
                names.add(name)
                size += int(length)
                if size > self._max_bytes:
                    limit = f"{self._max_bytes // 1_000_000:,} megabytes"
                    raise GitFetchError(
                        f"the files of commit {commit[:12]} are larger than the limit of {limit}",
                        hint="An operator can raise repositories.max_megabytes.",
                    )
                if len(names) > MAX_FILES:
                    message = f"commit {commit[:12]} has more than {MAX_FILES:,} files"
                    raise GitFetchError(message, hint="Split the repository.")
        return frozenset(names)

    def _list_changes(self, previous: str, commit: str, runner: GitRunner) -> frozenset[bytes]:
        """List the paths that differ between two commits."""
        arguments = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-ext-diff", previous, commit]
        with runner.open_output(self._folder, [f"--git-dir={self._git}", *arguments]) as output:
            return frozenset(_split_records(output))

    def _stage(self, commit: str, names: Iterable[bytes], runner: GitRunner) -> None:
        """Write files to the staging folder."""
        shutil.rmtree(self._staging, ignore_errors=True)
        self._staging.mkdir()
        self._staged_index.unlink(missing_ok=True)
        variables = {
            "GIT_DIR": str(self._git),
            "GIT_WORK_TREE": str(self._staging),
            "GIT_INDEX_FILE": str(self._staged_index),
        }
        runner.report({"phase": "checking out"})
        runner.run(self._staging, ["read-tree", commit], variables=variables)
        stdin = b"".join(name + b"\0" for name in sorted(names))
        runner.run(self._staging, ["checkout-index", "-f", "-q", "-z", "--stdin"], variables=variables, stdin=stdin)

    def _remove_others(self, names: frozenset[bytes]) -> None:
        """Remove all files that the commit has not, and folders that become empty."""
        for folder, folders, files in os.walk(os.fsencode(self._files), topdown=False):
            relative = os.path.relpath(folder, os.fsencode(self._files))
            prefix = b"" if relative == b"." else relative.replace(os.fsencode(os.sep), b"/") + b"/"
            if _is_reserved(prefix):
                continue
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
            for name in (*files, *links):
                path = prefix + name
                if path not in names and not _is_reserved(path):
                    os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118  # names may be no text
            if prefix:
                with suppress(OSError):
                    os.rmdir(folder)  # noqa: PTH106

    def _move(self, names: Iterable[bytes], runner: GitRunner) -> None:
        for position, name in enumerate(sorted(names)):
            if position % _CHECK_INTERVAL == 0:
                runner.check()
            target = self._files / os.fsdecode(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                shutil.rmtree(target)
            (self._staging / os.fsdecode(name)).replace(target)
        shutil.rmtree(self._staging, ignore_errors=True)

    def _link(self, commit: str) -> None:
        """Make the files a linked working tree of the mirror, at the commit; paths are relative, so both can be moved."""
        self._worktree.mkdir(parents=True, exist_ok=True)
        link = b"gitdir: ../%b/worktrees/checkout\n" % os.fsencode(self._git.name)
        if not (self._worktree / "gitdir").exists():
            atomic_write(self._worktree / "commondir", [b"../..\n"])
            atomic_write(self._worktree / "gitdir", [b"../../../checkout/.git\n"])
        self._staged_index.replace(self._worktree / "index")
        atomic_write(self._worktree / "HEAD", [commit.encode() + b"\n"])
        atomic_write(self._files / _GIT_LINK, [link])


def _is_reserved(name: bytes) -> bool:
    """Return whether a path belongs to git or to the index, which no commit may bring."""
    first = name.split(b"/", 1)[0].lower()
    return first in (os.fsencode(_GIT_LINK), os.fsencode(_INDEX_FOLDER))


def _split_records(output: IO[bytes]) -> Iterator[bytes]:
    """Yield the records of a file, each of which ends with a NUL."""
    rest = b""
    while block := output.read(_BLOCK_BYTES):
        *records, rest = (rest + block).split(b"\0")
        yield from records
