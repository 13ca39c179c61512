"""Lines of commits that prove what a commit changed."""

from functools import cached_property
from pathlib import Path
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.errors import HistoryError
from coderag.lineage.committed_text import read_committed_lines
from coderag.lineage.git_history import GitHistory
from coderag.schema.lineage import CommittedChange, Hunk

_MAX_LINES: Final = 12


class CommitLineReader:
    """Reader of the changed lines of commits.

    Args:
        root: The indexed folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_change(self, change: CommittedChange) -> CitedLines | None:
        """Return the first lines that a commit wrote of its subject, or removed from it; None if they are not known."""
        if self._git is None or not change.hunks:
            return None
        written = [hunk for hunk in change.hunks if hunk.new_count]
        if written:
            hunk = max(written, key=lambda hunk: hunk.new_count)
            return self._read(change.commit.id, change.path, hunk.new_start, hunk.new_count)
        hunk: Hunk = max(change.hunks, key=lambda hunk: hunk.old_count)
        parents = change.commit.parents
        return self._read(parents[0], change.path, hunk.old_start, hunk.old_count) if parents else None

    def _read(self, commit: str, path: str, start: int, count: int) -> CitedLines | None:
        lines = read_committed_lines(self._git, commit, path) if self._git else None
        shown = lines[start - 1 : start - 1 + min(count, _MAX_LINES)] if lines else []
        if not shown:
            return None
        return CitedLines(path, start, start + len(shown) - 1, "\n".join(shown), kind="commit", revision=commit)

    @cached_property
    def _git(self) -> GitHistory | None:
        try:
            return GitHistory.open(self._root)
        except HistoryError:
            return None
