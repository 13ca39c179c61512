"""Declarations that commits changed: both versions of each file are parsed, and git says which lines differ."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from coderag.ingestion.parsing.outline import FileOutline, read_outline
from coderag.lineage.blobs import BlobReader
from coderag.lineage.declaration_diff import diff_outlines
from coderag.lineage.git_history import GitHistory
from coderag.lineage.git_log import LogEntry, read_log
from coderag.schema.lineage import DeclarationChange, Hunk

_MAX_OUTLINES: Final = 2_000
"""Outlines kept in memory: the new version of a file in one commit is the old one in the next."""

MAX_FILES: Final = 1_000
"""Files of a commit up to which its declarations are read; a larger one is an import or a reformatting."""

_EMPTY: Final = FileOutline("", 0)


class CommitDeclarations(NamedTuple):
    """Declarations that a commit changed.

    Attributes:
        note: Reason why they are incomplete; empty if they are complete.
    """

    commit: str
    changes: list[DeclarationChange]
    note: str = ""


class CommitDeclarationReader:
    """Reads the declarations that commits changed against their first parent.

    Args:
        history: The repository.
        blobs: Reads its contents.
        is_own_change: Whether a commit (id) itself changed a path: a merge also has the changes of its other parents.
    """

    def __init__(self, history: GitHistory, blobs: BlobReader, is_own_change: Callable[[str, str], bool]) -> None:
        self._history = history
        self._is_own_change = is_own_change
        self._outlines = _Outlines(blobs)

    def read(self, commits: Sequence[str]) -> Iterator[CommitDeclarations]:
        """Read the declarations that commits changed, in this order.

        Raises:
            HistoryError: git failed, for example because an object is missing.
        """
        for entry in read_log(self._history, commits=commits, has_patches=True):
            yield self._read_commit(entry)

    def _read_commit(self, entry: LogEntry) -> CommitDeclarations:
        if not entry.are_changes_known:
            return CommitDeclarations(entry.id, [], "the clone is shallow: its parents are missing")
        pairs = [
            (change, hunks)
            for change, hunks in zip(entry.changes, entry.hunks, strict=True)
            if len(entry.parents) <= 1 or self._is_own_change(entry.id, change.path)
        ]
        if len(pairs) > MAX_FILES:
            return CommitDeclarations(entry.id, [], f"it changed more than {MAX_FILES:,} files")
        changes: list[DeclarationChange] = []
        unread = []
        for change, hunks in pairs:
            if change.is_submodule or not hunks:
                continue
            old = self._outlines.read(change.old_path, change.old_blob) if change.change != "copied" else _EMPTY
            new = self._outlines.read(change.path, change.new_blob)
            if old is None or new is None:
                unread.append(change.path)
                continue
            # The whole of a copied file is new.
            changed_lines = (Hunk(0, 0, 1, new.lines),) if change.change == "copied" else hunks
            changes += diff_outlines(change.path, old, new, changed_lines)
        note = f"files that are missing or too large: {len(unread):,}, such as {unread[0]}" if unread else ""
        return CommitDeclarations(entry.id, changes, note)


class _Outlines:
    """Outlines by blob and path, the latest used ones."""

    def __init__(self, blobs: BlobReader) -> None:
        self._blobs = blobs
        self._outlines: OrderedDict[tuple[str, str], FileOutline | None] = OrderedDict()

    def read(self, path: str, blob: str) -> FileOutline | None:
        """Read the outline of a blob; empty for an absent file and binary data, None if it is missing or too large."""
        if not blob:
            return _EMPTY
        key = (blob, path)
        if key in self._outlines:
            self._outlines.move_to_end(key)
            return self._outlines[key]
        content = self._blobs.read(blob)
        outline = read_outline(path, content) or _EMPTY if content is not None else None
        self._outlines[key] = outline
        if len(self._outlines) > _MAX_OUTLINES:
            self._outlines.popitem(last=False)
        return outline
