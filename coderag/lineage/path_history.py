"""Commits that changed a path, followed through its renames; nothing but the stored commits is read."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from coderag.lineage.commit_segment import CHANGES
from coderag.lineage.commit_table import CommitTable

_RENAMED = CHANGES.index("renamed")
_DELETED = CHANGES.index("deleted")


class PathChangeRow(NamedTuple):
    """A change of a path.

    Attributes:
        position: Position of the commit.
        row: Row of the change.
        path: Name of the file after the commit (before it, if deleted).
        note: Rename or deletion; empty otherwise.
    """

    position: int
    row: int
    path: str
    note: str = ""


class PathHistory:
    """Histories of paths in a table of commits."""

    def __init__(self, table: CommitTable) -> None:
        self._table = table

    def is_known(self, path: str) -> bool:
        """Return whether any commit changed a file or a folder of that name."""
        return path in self._table.path_numbers or bool(self._list_below(path))

    def find_changes(self, path: str) -> Iterator[PathChangeRow]:
        """Yield the changes of a file or of all files below a folder, newest first.

        Merges count only with a version that none of their parents has.
        """
        if path in self._table.path_numbers:
            yield from self._follow(path)
            return
        rows = [row for number in self._list_below(path) for row in self._table.find_changes(number).tolist()]
        commits = self._table.change_commits
        for row in sorted(rows, reverse=True):
            if self._table.is_own_change(row):
                yield PathChangeRow(int(commits[row]), row, self._table.paths[self._table.change_paths[row]])

    def list_names(self, path: str) -> list[str]:
        """Return the names that a file has had, the latest first."""
        return (
            list(dict.fromkeys([path, *(change.path for change in self._follow(path))]))
            if (path in self._table.path_numbers)
            else [path]
        )

    def get_current_name(self, path: str) -> str:
        """Return the name that a file has now, after its renames."""
        visited = {path}
        while (renamed := self._renames.get(path)) is not None and renamed not in visited:
            path = renamed
            visited.add(path)
        return path

    def exists(self, path: str) -> bool:
        """Return whether a file is there after the latest commit that changed it."""
        number = self._table.path_numbers.get(path)
        if number is None:
            return False
        rows = self._table.find_changes(number)
        return len(rows) > 0 and self._table.change_kinds[rows[-1]] != _DELETED and path not in self._renames

    def _follow(self, path: str) -> Iterator[PathChangeRow]:
        table = self._table
        commits = table.change_commits
        below = len(table)
        visited = set()
        while True:
            visited.add(path)
            rows = table.find_changes(table.path_numbers[path])
            rows = rows[commits[rows] < below]
            renamed_from = ""
            for row in reversed(rows.tolist()):
                old = table.paths[table.change_old_paths[row]]
                kind = table.change_kinds[row]
                note = f"renamed from {old}" if kind == _RENAMED else "deleted" if kind == _DELETED else ""
                if table.is_own_change(row):
                    yield PathChangeRow(int(commits[row]), row, path, note)
                    if kind == _RENAMED and old not in visited and old in table.path_numbers:
                        renamed_from, below = old, int(commits[row])
                        break
            if not renamed_from:
                return
            path = renamed_from

    def _list_below(self, folder: str) -> list[int]:
        prefix = f"{folder.rstrip('/')}/" if folder not in ("", ".") else ""
        return [number for number, path in enumerate(self._table.paths) if path.startswith(prefix)]

    @cached_property
    def _renames(self) -> dict[str, str]:
        """New name of each path whose last change is that it was renamed away."""
        table = self._table
        last_rows = {number: row for row, number in enumerate(table.change_paths.tolist())}
        renames = {}
        for row in np.flatnonzero(table.change_kinds == _RENAMED).tolist():
            old = int(table.change_old_paths[row])
            if last_rows.get(old, -1) < row and table.is_own_change(row):
                renames[table.paths[old]] = table.paths[table.change_paths[row]]
        return renames
