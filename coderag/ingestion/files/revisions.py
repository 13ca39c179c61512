"""Which files differ from a revision of git: committed since, changed in the working tree, or not tracked."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from coderag.errors import InvalidQueryError
from coderag.ingestion.files.file_text import read_regular_file
from coderag.ingestion.files.git_repository import find_repository, run_git

_MAX_COMPARED_BYTES = 100_000_000


def find_changed_since(root: Path, revision: str, paths: Iterable[str]) -> list[str]:
    """Return those of some files that are not on disk what they are in a revision, in their order.

    Contents are compared by their hashes, without git's help: it would run the filters that the repository's own
    configuration names. Files of submodules count as not changed.

    Args:
        root: Folder of the repository, or one in it, that the paths start at.
        revision: Anything that names one commit: a branch, a tag, a hash, ``HEAD~3``.
        paths: With ``/`` between their parts.

    Raises:
        InvalidQueryError: The folder is in no git repository, there is no git, or it knows no such commit.
    """
    blobs: dict[str, str] = {}
    submodules: list[str] = []
    for entry in filter(
        None, _query_git(root, revision, "ls-tree", "-r", "-z", _resolve_commit(root, revision)).split("\0")
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
        if not _has_blob_content(root / path, blobs.get(path)) and not path.startswith(submodule_prefixes)
    ]


def _resolve_commit(root: Path, revision: str) -> str:
    """Return the hash of the commit that a revision names."""
    if find_repository(root) is None:
        message = f"what changed since {revision!r} is not known: {root} is in no git repository"
        raise InvalidQueryError(message)
    is_malformed = not revision or revision.startswith(("-", "^")) or ".." in revision
    commit = (
        ""
        if is_malformed
        else _query_git(root, revision, "rev-list", "--ignore-missing", "--max-count=1", revision, "--")
    )
    if not commit.strip():
        hint = "Name one commit: a branch, a tag, a hash, or as in HEAD~3."
        raise InvalidQueryError(f"git knows no revision {revision!r} in {root}", hint=hint)
    return commit.strip()


def _has_blob_content(path: Path, blob: str | None) -> bool:
    """Whether a file has the content that git knows by a hash, as it is or with the line ends that git stores."""
    if blob is None:
        return False
    try:
        data, _ = read_regular_file(path, _MAX_COMPARED_BYTES)
    except OSError:
        return False
    return _compute_blob_hash(data, len(blob)) == blob or (
        b"\r\n" in data and _compute_blob_hash(data.replace(b"\r\n", b"\n"), len(blob)) == blob
    )


def _compute_blob_hash(data: bytes, digits: int) -> str:
    """Return git's name for a content: by SHA-1, or by SHA-256 in a repository that is set so."""
    algorithm = hashlib.sha256 if digits == 64 else hashlib.sha1
    return algorithm(b"blob %d\0" % len(data) + data).hexdigest()


def _query_git(root: Path, revision: str, *arguments: str) -> str:
    printed = run_git(root, *arguments)
    if printed is None:
        hint = "Is git installed, and does `git status` work there?"
        raise InvalidQueryError(f"git cannot tell what changed since {revision!r} in {root}", hint=hint)
    return printed.decode("utf-8", "surrogateescape")
