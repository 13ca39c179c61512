"""Both sides of a change: revisions, the staging area, the working tree, or a patch on HEAD.

Everything is read as git stores it, by plain commands: no filter, hook, pager or external diff is run.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.engine.changes.applied_patch import apply_patch
from coderag.engine.changes.renames import pair_renames
from coderag.engine.changes.tree_listing import (
    LINK_MODE,
    ON_DISK,
    SUBMODULE_MODE,
    Listing,
    TreeEntry,
    list_commit,
    list_staged,
    list_working_tree,
)
from coderag.errors import InvalidQueryError
from coderag.ingestion.files.file_text import MAX_FILE_BYTES, explain_size_limit
from coderag.ingestion.files.git_repository import find_repository, run_git
from coderag.ingestion.files.regular_files import describe_os_error, read_regular_file
from coderag.ingestion.files.revisions import resolve_commit
from coderag.lineage.line_diff import diff_lines
from coderag.schema.change_review import ChangeTarget, FileStatus
from coderag.text.encodings import decode

WORKING_TREE: Final = "working tree"
STAGED: Final = "staged"
PATCH: Final = "patch"
MAX_FILES: Final = 2_000
_MAX_BATCH_BYTES: Final = 64_000_000
_HEAD: Final = "HEAD"
_SHORT_DIGITS: Final = 12
_UNMERGED_NOTE: Final = "has merge conflicts"
_MISSING_NOTE: Final = "its content is not in this clone"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs between the two sides.

    Attributes:
        path: Path on the new side; of a removed file, on the old side.
        old_path: Path on the old side; empty for an added file.
        old_data, new_data: Contents; None where the file is missing, or is not compared.
        note: Reason why a content is missing although the file is there, or a remark on it.
    """

    path: str
    old_path: str
    status: FileStatus
    old_data: bytes | None
    new_data: bytes | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RevisionPair:
    """A change.

    Attributes:
        base: Old side: a commit, or empty for an empty repository.
        target: New side: a commit, ``staged``, ``working tree`` or ``patch``.
        is_on_disk: Whether the new side is the working tree.
        is_at_head: Whether the old side is HEAD.
        files: Changed files by path, at most `MAX_FILES`.
        n_left_out: Number of further ones.
    """

    base: str
    target: str
    is_on_disk: bool
    is_at_head: bool
    files: Sequence[ChangedFile]
    n_left_out: int = 0

    @property
    def is_committed(self) -> bool:
        """True if the new side is a commit."""
        return self.target not in (WORKING_TREE, STAGED, PATCH)


def read_revision_pair(root: Path, target: ChangeTarget) -> RevisionPair:
    """Read both sides of a change.

    Args:
        root: Folder of the repository, or a folder in it; changes outside of it are left out.
        target: The change.

    Raises:
        InvalidQueryError: The folder is in no git repository, a revision is unknown, or a patch does not apply.
    """
    repository = find_repository(root)
    if repository is None:
        hint = "Run it in a clone, or name one with --repo."
        raise InvalidQueryError("there is nothing to compare: this folder is not in a git repository", hint=hint)
    if target.patch is not None:
        base = _resolve_head(root)
        with apply_patch(repository, target.patch, base) as variables:
            old = _list_base(root, base)
            return _compare(root, old, list_staged(root, variables), base, PATCH, variables)
    if target.staged:
        base = _resolve_head(root)
        return _compare(root, _list_base(root, base), list_staged(root), base, STAGED)
    if ".." in target.revisions:
        base, end = _resolve_range(root, target.revisions)
        return _compare(root, list_commit(root, base), list_commit(root, end), base, end)
    base = resolve_commit(root, target.revisions) if target.revisions else _resolve_head(root)
    old = _list_base(root, base)
    return _compare(root, old, list_working_tree(root, old), base, WORKING_TREE)


def list_changed_lines(file: ChangedFile) -> list[str]:
    """Return the removed and the added lines of a file."""
    sides = [(data or b"").splitlines() for data in (file.old_data, file.new_data)]
    lines = []
    for hunk in diff_lines(*sides):
        lines += sides[0][hunk.old_start - 1 : hunk.old_start - 1 + hunk.old_count] if hunk.old_count else []
        lines += sides[1][hunk.new_start - 1 : hunk.new_start - 1 + hunk.new_count] if hunk.new_count else []
    return [line.decode("utf-8", "replace") for line in lines]


def _resolve_head(root: Path) -> str:
    """Return the commit of HEAD; empty before the first commit."""
    printed = run_git(root, "rev-list", "--max-count=1", _HEAD, "--")
    return (printed or b"").decode("ascii", "replace").strip()


def _list_base(root: Path, commit: str) -> Listing:
    return list_commit(root, commit) if commit else {}


def _resolve_range(root: Path, revisions: str) -> tuple[str, str]:
    """Resolve ``A..B``, or ``A...B`` for what B changed since it left A; an empty end is HEAD."""
    separator = "..." if "..." in revisions else ".."
    start, _, end = revisions.partition(separator)
    first, last = resolve_commit(root, start or _HEAD), resolve_commit(root, end or _HEAD)
    if separator == "..":
        return first, last
    merge_base = (run_git(root, "merge-base", first, last) or b"").decode("ascii", "replace").strip()
    if not merge_base:
        hint = "Use two dots to compare them directly, or fetch the missing history of a shallow clone."
        raise InvalidQueryError(f"{start or _HEAD} and {end or _HEAD} have no common ancestor here", hint=hint)
    return merge_base, last


def _compare(
    root: Path, old: Listing, new: Listing, base: str, target: str, variables: Mapping[str, str] | None = None
) -> RevisionPair:
    changed = sorted(path for path in old.keys() | new.keys() if _is_changed(old.get(path), new.get(path)))
    listed = changed[:MAX_FILES]
    reader = _ContentReader(root, variables)
    reader.load([entry for path in listed for entry in (old.get(path), new.get(path)) if entry is not None])
    files = list(_build_files(listed, old, new, reader))
    is_at_head = base == _resolve_head(root)
    return RevisionPair(base, target, target == WORKING_TREE, is_at_head, files, len(changed) - len(listed))


def _is_changed(old: TreeEntry | None, new: TreeEntry | None) -> bool:
    if old is None or new is None:
        return True
    return (old.mode, old.digest) != (new.mode, new.digest) or new.is_unmerged


def _build_files(paths: Sequence[str], old: Listing, new: Listing, reader: "_ContentReader") -> Iterator[ChangedFile]:
    """Yield the changed files, with renames paired."""
    sides = {path: (reader.read(path, old.get(path)), reader.read(path, new.get(path))) for path in paths}
    removed = {path: before.data for path, (before, _) in sides.items() if path not in new and before.data is not None}
    added = {path: after.data for path, (_, after) in sides.items() if path not in old and after.data is not None}
    old_paths = pair_renames(removed, added)
    renamed = set(old_paths.values())
    for path in paths:
        if path in renamed:
            continue
        old_path = old_paths.get(path, path if path in old else "")
        before, after = sides[old_path][0] if old_path else _Content(), sides[path][1]
        status = _classify(old.get(old_path), new.get(path), is_renamed=path in old_paths)
        note = _describe_submodule(old.get(old_path), new.get(path)) or after.note or before.note
        yield ChangedFile(path, old_path, status, before.compared, after.compared, note)


def _classify(old: TreeEntry | None, new: TreeEntry | None, *, is_renamed: bool) -> FileStatus:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if is_renamed:
        return "renamed"
    return "mode" if old.digest == new.digest and old.mode != new.mode else "modified"


def _describe_submodule(old: TreeEntry | None, new: TreeEntry | None) -> str:
    """Describe a submodule; empty for files."""
    commits = [entry.digest[:_SHORT_DIGITS] if entry is not None else "nothing" for entry in (old, new)]
    is_submodule = any(entry is not None and entry.mode == SUBMODULE_MODE for entry in (old, new))
    return f"submodule: {commits[0]} to {commits[1]}" if is_submodule else ""


@dataclass(frozen=True, slots=True)
class _Content:
    """Content of a file on a side; without data it is missing there, or the note says why it cannot be read."""

    data: bytes | None = None
    note: str = ""
    is_text: bool = True

    @property
    def compared(self) -> bytes | None:
        """Data whose declarations are compared; None if it is not text."""
        return self.data if self.is_text else None


class _ContentReader:
    """Reader of blobs, with one command for many, and of files on disk."""

    def __init__(self, root: Path, variables: Mapping[str, str] | None) -> None:
        self._root = root
        self._variables = variables
        self._blobs: dict[str, bytes | None] = {}

    def load(self, entries: Sequence[TreeEntry]) -> None:
        """Read the blobs of some entries that are not larger than the limit."""
        digests = sorted({entry.digest for entry in entries if entry.digest and entry.mode != SUBMODULE_MODE})
        batch: list[str] = []
        n_bytes = 0
        for digest, size in self._measure(digests):
            if size > MAX_FILE_BYTES:
                self._blobs[digest] = None
                continue
            if n_bytes + size > _MAX_BATCH_BYTES:
                self._read_blobs(batch)
                batch, n_bytes = [], 0
            batch.append(digest)
            n_bytes += size
        self._read_blobs(batch)

    def read(self, path: str, entry: TreeEntry | None) -> _Content:
        """Return the content of a file on one side."""
        if entry is None or entry.mode == SUBMODULE_MODE:
            return _Content()
        note = _UNMERGED_NOTE if entry.is_unmerged else ""
        if entry.digest == ON_DISK:
            return self._read_disk(path, entry, note)
        if entry.digest not in self._blobs:
            return _Content(note=_MISSING_NOTE)
        data = self._blobs[entry.digest]
        if data is None:
            return _Content(note=explain_size_limit(MAX_FILE_BYTES))
        return _classify_content(data, entry.mode, note)

    def _read_disk(self, path: str, entry: TreeEntry, note: str) -> _Content:
        try:
            if entry.mode == LINK_MODE:
                target = os.fsencode(os.readlink(self._root / path))  # noqa: PTH115  # Path drops a final slash
                return _classify_content(target, entry.mode, note)
            data, _ = read_regular_file(self._root / path, MAX_FILE_BYTES)
        except OSError as error:
            return _Content(note=f"cannot be read: {describe_os_error(error)}")
        if len(data) > MAX_FILE_BYTES:
            return _Content(note=explain_size_limit(MAX_FILE_BYTES))
        return _classify_content(data, entry.mode, note)

    def _measure(self, digests: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Yield the size in bytes of each blob that this clone has."""
        printed = self._query("--batch-check=%(objectname) %(objectsize)", digests)
        for line in printed.decode("ascii", "replace").splitlines():
            digest, _, size = line.partition(" ")
            if size.isdigit():  # otherwise it is missing
                yield digest, int(size)

    def _read_blobs(self, digests: Sequence[str]) -> None:
        printed = self._query("--batch", digests)
        position = 0
        while position < len(printed):
            end = printed.index(b"\n", position)
            digest, *rest = printed[position:end].decode("ascii", "replace").split(" ")
            position = end + 1
            if rest[-1:] == ["missing"] or not rest:
                continue
            size = int(rest[-1])
            self._blobs[digest] = printed[position : position + size]
            position += size + 1

    def _query(self, option: str, digests: Sequence[str]) -> bytes:
        if not digests:
            return b""
        data = "\n".join([*digests, ""]).encode()
        return run_git(self._root, "cat-file", option, data=data, variables=self._variables) or b""


def _classify_content(data: bytes, mode: str, note: str) -> _Content:
    if mode == LINK_MODE:
        return _Content(data, "symbolic link", is_text=False)
    if decode(data) is None:
        return _Content(data, "binary file", is_text=False)
    return _Content(data, note)
