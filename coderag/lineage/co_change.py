"""Co-change: what was changed in the same commits as a file or a declaration. Counts only; it is no dependency.

Merges do not count, nor do commits with more than `MAX_CO_CHANGED_FILES` files: imports, reformatting, mass renames.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from coderag.lineage.commit_table import CommitTable
from coderag.lineage.path_history import PathHistory
from coderag.schema.lineage import MAX_CO_CHANGED_FILES, CoChange, DeclarationChange

MIN_TOGETHER: Final = 2


class SubjectCommits(NamedTuple):
    """Commits that changed a subject, and that count.

    Attributes:
        positions: Their positions, newest first.
        left_out: Number of commits with too many files.
    """

    positions: Sequence[int]
    left_out: int


def select_commits(table: CommitTable, positions: Iterable[int]) -> SubjectCommits:
    """Select the commits that count: no merges, at most `MAX_CO_CHANGED_FILES` files."""
    counted, left_out = [], 0
    for position in dict.fromkeys(positions):
        if table.change_ends[position + 1] - table.change_ends[position] > MAX_CO_CHANGED_FILES:
            left_out += 1
        elif not table.is_merge(position):
            counted.append(position)
    return SubjectCommits(counted, left_out)


def find_file_co_changes(table: CommitTable, paths: PathHistory, path: str, commits: SubjectCommits) -> list[CoChange]:
    """Find the files that exist now and changed together with a file, by the number of common commits.

    Args:
        table: The commits.
        paths: Their paths.
        path: The file.
        commits: Commits that changed it.
    """
    together: Counter[str] = Counter()
    last: dict[str, int] = {}
    for position in commits.positions:
        names = set()
        for row in range(*table.change_ends[position : position + 2]):
            names.add(paths.get_current_name(table.paths[table.change_paths[row]]))
        for name in names - {path}:
            together[name] += 1
            last[name] = max(last.get(name, -1), position)
    candidates = [name for name, count in together.items() if count >= MIN_TOGETHER and paths.exists(name)]
    totals = _count_commits(table, paths, candidates)
    changes = [
        CoChange(name, "", together[name], len(commits.positions), totals[name], table.get_id(last[name]))
        for name in candidates
    ]
    return sorted(changes, key=_rank)


def find_declaration_co_changes(
    table: CommitTable,
    paths: PathHistory,
    subject: tuple[str, str],
    changes_by_commit: Mapping[str, Sequence[DeclarationChange]],
    count_commits: Mapping[tuple[str, str], int],
) -> list[CoChange]:
    """Find the declarations that changed together with a declaration.

    Args:
        table: The commits.
        paths: Their paths.
        subject: Path and qualified name of the declaration.
        changes_by_commit: Declarations changed by each commit that changed it.
        count_commits: Number of commits that changed each declaration, as far as they are read.
    """
    together: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], int] = {}
    for commit, changes in changes_by_commit.items():
        position = table.find_position(commit)
        keys = {
            (paths.get_current_name(change.path), change.qualified_name)
            for change in changes
            if change.kind != "module"
        }
        for key in keys - {subject}:
            together[key] += 1
            last[key] = max(last.get(key, -1), -1 if position is None else position)
    results = [
        CoChange(
            path,
            name,
            count,
            len(changes_by_commit),
            max(count, count_commits.get((path, name), 0)),
            table.get_id(last[path, name]) if last[path, name] >= 0 else "",
        )
        for (path, name), count in together.items()
        if count >= MIN_TOGETHER
    ]
    return sorted(results, key=_rank)


def _rank(change: CoChange) -> tuple[float, float, str, str]:
    """Order by common commits, then by their share of the other's commits."""
    return (-change.together, -change.together / max(1, change.other_commits), change.path, change.qualified_name)


def _count_commits(table: CommitTable, paths: PathHistory, names: Sequence[str]) -> dict[str, int]:
    """Count the commits of each file that count, under all of its names."""
    sizes = np.diff(table.change_ends)
    merges = np.diff(table.parent_ends) > 1
    counted = (sizes <= MAX_CO_CHANGED_FILES) & ~merges
    wanted = set(names)
    totals: Counter[str] = Counter()
    for number, path in enumerate(table.paths):
        current = paths.get_current_name(path)
        if current in wanted:
            commits = np.unique(table.change_commits[table.find_changes(number)])
            totals[current] += int(counted[commits].sum())
    return dict(totals)
