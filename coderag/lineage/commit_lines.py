"""Lines that a commit changed, as text."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from coderag.errors import HistoryError
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
        self._files: dict[tuple[str, str], Sequence[str]] = {}

    def read_sides(self, change: CommittedChange) -> tuple[str, str]:
        """Return the lines of its subject that a commit removed, and those that it wrote; empty where they are not known."""
        parents = change.commit.parents
        old = self._read_file(parents[0], change.path) if parents and change.hunks else ()
        new = self._read_file(change.commit.id, change.path) if change.hunks else ()
        removed = (old[hunk.old_start - 1 : hunk.old_start - 1 + hunk.old_count] for hunk in change.hunks)
        written = (new[hunk.new_start - 1 : hunk.new_start - 1 + hunk.new_count] for hunk in change.hunks)
        return _join(removed), _join(written)

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
        lines = self._read_file(commit, change.path)[start - 1 : start - 1 + min(count, max_lines)]
        return (commit, change.path, start, lines) if lines else None

    def _read_file(self, commit: str, path: str) -> Sequence[str]:
        key = commit, path
        if key not in self._files:
            self._files[key] = (read_committed_lines(self._git, commit, path) if self._git else None) or ()
        return self._files[key]

    @cached_property
    def _git(self) -> GitHistory | None:
        try:
            return GitHistory.open(self._root)
        except HistoryError:
            return None


def _join(parts: Iterable[Sequence[str]]) -> str:
    return "\n".join(line for part in parts for line in part)
