"""Listings of a side of a comparison: a commit, the staging area, or the working tree."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from coderag.errors import InvalidQueryError
from coderag.ingestion.files.git_repository import find_repository, run_git
from coderag.ingestion.files.revisions import has_blob_content

REGULAR_MODE: Final = "100644"
EXECUTABLE_MODE: Final = "100755"
LINK_MODE: Final = "120000"
SUBMODULE_MODE: Final = "160000"
ON_DISK: Final = ""
"""Digest of a file whose content is in the working tree only."""

_OURS: Final = ("0", "2")
"""Stages that are read: merged entries, and our side of a conflict."""


class TreeEntry(NamedTuple):
    """A file of a side.

    Attributes:
        mode: Mode as git writes it, such as `REGULAR_MODE`.
        digest: Id of the blob, or of a submodule's commit; `ON_DISK` for a changed file of the working tree.
        is_unmerged: Whether the staging area has a conflict in it.
    """

    mode: str
    digest: str
    is_unmerged: bool = False


Listing = dict[str, TreeEntry]
"""Entries by path, separated by ``/`` and relative to the root."""


def list_commit(root: Path, commit: str) -> Listing:
    """List the files of a commit below the root.

    Raises:
        InvalidQueryError: git fails, as in a partial clone without the trees.
    """
    entries: Listing = {}
    for entry in filter(None, _query(root, "ls-tree", "-r", "-z", commit).split("\0")):
        description, _, path = entry.partition("\t")
        mode, _, digest = description.split(" ")
        entries[path] = TreeEntry(mode, digest)
    return entries


def list_staged(root: Path, variables: Mapping[str, str] | None = None) -> Listing:
    """List the staging area below the root.

    Args:
        root: Folder of the repository.
        variables: Environment of git, which may select another staging area.

    Raises:
        InvalidQueryError: git fails.
    """
    entries: Listing = {}
    for entry in filter(None, _query(root, "ls-files", "-s", "-z", variables=variables).split("\0")):
        description, _, path = entry.partition("\t")
        mode, digest, stage = description.split(" ")
        if stage in _OURS or path not in entries:
            entries[path] = TreeEntry(mode, digest, is_unmerged=stage != "0")
    return entries


def list_working_tree(root: Path, base: Listing) -> Listing:
    """List the tracked and the untracked files on disk; ignored ones are left out.

    Files are compared by hash: git's own comparison would run filters that the repository's configuration names.

    Args:
        root: Folder of the repository.
        base: The side to compare with.

    Raises:
        InvalidQueryError: git fails.
    """
    entries: Listing = {}
    for entry in filter(None, _query(root, "ls-files", "-s", "-t", "-z").split("\0")):
        description, _, path = entry.partition("\t")
        tag, mode, digest, stage = description.split(" ")
        if tag == "S":  # left out of a sparse checkout
            entries[path] = TreeEntry(mode, digest)
        elif (on_disk := _inspect_file(root, path, base.get(path), TreeEntry(mode, digest, stage != "0"))) is not None:
            entries[path] = on_disk
    for path in filter(None, _query(root, "ls-files", "-o", "-z", "--exclude-standard").split("\0")):
        if not path.endswith("/") and (on_disk := _inspect_file(root, path, base.get(path), None)) is not None:
            entries[path] = on_disk
    return entries


def _inspect_file(root: Path, path: str, base: TreeEntry | None, staged: TreeEntry | None) -> TreeEntry | None:
    """Return the entry of a file on disk; None if there is none."""
    is_unmerged = staged is not None and staged.is_unmerged
    if staged is not None and staged.mode == SUBMODULE_MODE:
        return TreeEntry(SUBMODULE_MODE, _find_submodule_commit(root / path) or staged.digest)
    try:
        status = (root / path).lstat()
    except OSError:
        return None
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(root / path))  # noqa: PTH115  # Path drops a final slash
        is_same = base is not None and base.mode == LINK_MODE and has_blob_content(target, base.digest)
        return TreeEntry(LINK_MODE, base.digest if is_same and base is not None else ON_DISK)
    if not stat.S_ISREG(status.st_mode):
        return None
    mode = EXECUTABLE_MODE if status.st_mode & stat.S_IXUSR else REGULAR_MODE
    if base is None or base.mode not in (REGULAR_MODE, EXECUTABLE_MODE):
        return TreeEntry(mode, ON_DISK, is_unmerged)
    if os.name == "nt":  # no such bit
        mode = base.mode
    return TreeEntry(mode, base.digest if has_blob_content(root / path, base.digest) else ON_DISK, is_unmerged)


def _find_submodule_commit(folder: Path) -> str:
    """Return the commit that is checked out in a submodule; empty if it is not initialised."""
    repository = find_repository(folder)
    if repository is None or repository.top != folder:
        return ""
    return (run_git(folder, "rev-parse", "--verify", "HEAD") or b"").decode("ascii", "replace").strip()


def _query(root: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
    printed = run_git(root, *arguments, variables=variables)
    if printed is None:
        hint = "Check that git is installed, that `git status` works there, and that no object is missing."
        raise InvalidQueryError(f"git {arguments[0]} failed in {root}", hint=hint)
    return printed.decode("utf-8", "surrogateescape")
