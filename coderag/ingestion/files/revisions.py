"""Files that differ from a git revision: committed since, changed in the working tree, or untracked."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from coderag.errors import InvalidQueryError
from coderag.ingestion.files.git_repository import find_repository, run_git
from coderag.ingestion.files.regular_files import read_regular_file

_MAX_COMPARED_BYTES = 100_000_000


def find_changed_since(root: Path, revision: str, paths: Iterable[str]) -> list[str]:
    """Return the paths whose content on disk differs from a revision, in the given order.

    Contents are compared by hash without running git's diff, which would execute filters that the repository's
    configuration names. Files of submodules count as unchanged.

    Args:
        root: Folder of the repository, or a folder in it; paths are relative to it.
        revision: A name of a single commit: a branch, a tag, a hash, ``HEAD~3``.
        paths: Paths separated by ``/``.

    Raises:
        InvalidQueryError: The folder is not in a git repository, git is not available, or there is no such commit.
    """
    blobs: dict[str, str] = {}
    submodules: list[str] = []
    for entry in filter(
        None, _query_git(root, revision, "ls-tree", "-r", "-z", resolve_commit(root, revision)).split("\0")
    ):
        description, _, path = entry.partition("\t")
        _, kind, digest = description.split(" ")
        if kind == "blob":
            blobs[path] = digest
        else:
            submodules.append(f"{path}/")
    submodule_prefixes = tuple(submodules)
    return [
        path
        for path in paths
        if not has_blob_content(root / path, blobs.get(path)) and not path.startswith(submodule_prefixes)
    ]


def resolve_commit(root: Path, revision: str) -> str:
    """Resolve a revision to the hash of its commit.

    Raises:
        InvalidQueryError: The folder is not in a git repository, git is not available, or there is no such commit.
    """
    if find_repository(root) is None:
        message = f"cannot list changes since {revision!r}: this folder is not in a git repository"
        raise InvalidQueryError(message)
    is_malformed = not revision or revision.startswith(("-", "^")) or ".." in revision
    commit = (
        ""
        if is_malformed
        else _query_git(root, revision, "rev-list", "--ignore-missing", "--max-count=1", revision, "--")
    )
    if not commit.strip():
        hint = "Name a single commit: a branch, a tag, a hash, or an expression such as HEAD~3."
        raise InvalidQueryError(f"unknown git revision {revision!r} in {root}", hint=hint)
    return commit.strip()


def has_blob_content(source: Path | bytes, blob: str | None) -> bool:
    """Return whether a file or some bytes have the content of a blob, as they are or with git's line endings.

    Args:
        source: A regular file, or its content.
        blob: Id of the blob; None for none.
    """
    if blob is None:
        return False
    try:
        data = source if isinstance(source, bytes) else read_regular_file(source, _MAX_COMPARED_BYTES)[0]
    except OSError:
        return False
    return _compute_blob_hash(data, len(blob)) == blob or (
        b"\r\n" in data and _compute_blob_hash(data.replace(b"\r\n", b"\n"), len(blob)) == blob
    )


def _compute_blob_hash(data: bytes, digits: int) -> str:
    """Compute git's object id of a content: SHA-1, or SHA-256 in a repository with that object format."""
    algorithm = hashlib.sha256 if digits == 64 else hashlib.sha1
    return algorithm(b"blob %d\0" % len(data) + data).hexdigest()


def _query_git(root: Path, revision: str, *arguments: str) -> str:
    printed = run_git(root, *arguments)
    if printed is None:
        hint = "Check that git is installed and that `git status` works in this folder."
        raise InvalidQueryError(f"git failed to list changes since {revision!r} in {root}", hint=hint)
    return printed.decode("utf-8", "surrogateescape")
