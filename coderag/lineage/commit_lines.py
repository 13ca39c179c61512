"""Lines that a commit changed, as text."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from coderag.errors import HistoryError
from coderag.lineage.blobs import BlobReader
from coderag.lineage.committed_text import read_committed_lines
from coderag.lineage.git_history import GitHistory
from coderag.schema.lineage import CommittedChange


class CommitLineReader:
    """Reader of the changed lines of commits.

    Args:
        root: The indexed folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_sides(self, changes: Iterable[CommittedChange]) -> Iterator[tuple[str, str]]:
        """Yield the lines of its subject that each commit removed, and those that it wrote; empty where they are not known."""
        with self._open_files() as files:
            for change in changes:
                parents = change.commit.parents
                old = files.read(parents[0], change.path) if parents and change.hunks else ()
                new = files.read(change.commit.id, change.path) if change.hunks else ()
                removed = (old[hunk.old_start - 1 : hunk.old_start - 1 + hunk.old_count] for hunk in change.hunks)
                written = (new[hunk.new_start - 1 : hunk.new_start - 1 + hunk.new_count] for hunk in change.hunks)
                yield _join(removed), _join(written)

    def read_widest(self, change: CommittedChange, max_lines: int) -> tuple[str, str, int, Sequence[str]] | None:
        """Return the first lines of the widest changed range: those that the commit wrote, or else those that it removed.

        Returns:
            Commit whose file has them, path, first line and lines; None if they are not known.
        """
        written = [hunk for hunk in change.hunks if hunk.new_count]
        if written:
            hunk = max(written, key=lambda hunk: hunk.new_count)
            commit, start, count = change.commit.id, hunk.new_start, hunk.new_count
        elif change.hunks and change.commit.parents:
            hunk = max(change.hunks, key=lambda hunk: hunk.old_count)
            commit, start, count = change.commit.parents[0], hunk.old_start, hunk.old_count
        else:
            return None
        with self._open_files() as files:
            lines = files.read(commit, change.path)[start - 1 : start - 1 + min(count, max_lines)]
        return (commit, change.path, start, lines) if lines else None

    @contextmanager
    def _open_files(self) -> "Iterator[_CommittedFiles]":
        """Open the files of commits, read by one process of git."""
        if self._git is None:
            yield _CommittedFiles(None)
            return
        with BlobReader.open(self._git) as blobs:
            yield _CommittedFiles(blobs)

    @cached_property
    def _git(self) -> GitHistory | None:
        try:
            return GitHistory.open(self._root)
        except HistoryError:
            return None


class _CommittedFiles:
    """Files of commits, each read once: a commit's file is also its child's file before the change."""

    def __init__(self, blobs: BlobReader | None) -> None:
        self._blobs = blobs
        self._files: dict[tuple[str, str], Sequence[str]] = {}

    def read(self, commit: str, path: str) -> Sequence[str]:
        """Return the lines of a file; empty if they are not known."""
        key = commit, path
        if key not in self._files:
            lines = read_committed_lines(self._blobs, commit, path) if self._blobs is not None else None
            self._files[key] = lines or ()
        return self._files[key]


def _join(parts: Iterable[Sequence[str]]) -> str:
    return "\n".join(line for part in parts for line in part)
