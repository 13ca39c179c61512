"""Commits that changed a range of lines: ``git log -L``, continued where the lines were moved from another file."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from coderag.ingestion.files.file_text import MAX_FILE_BYTES
from coderag.lineage.blame import unquote_path
from coderag.lineage.git_history import GitHistory
from coderag.lineage.git_log import decode_path
from coderag.schema.lineage import DeclarationChange, Hunk

_ID: Final = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
_HUNK: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TIMEOUT_S: Final = 30
_NAME_SEPARATORS: Final = re.compile(r"[.:#>\s]+")
_MAX_MOVES: Final = 8
_MAX_SEARCHED_FILES: Final = 200
_MIN_CHARS_WITHIN, _MIN_CHARS_BETWEEN = 20, 40
"""Letters and digits that lines moved within a file and between files must have, as for ``git blame -M -C``."""

_MIN_MOVED_SHARE: Final = 0.5
"""Share of the lines that must come from one other file for the history to go on there."""

ReadDeclarations = Callable[[str], Sequence[DeclarationChange]]


@dataclass(frozen=True, slots=True)
class LineChange:
    """A commit that changed lines of a range.

    Attributes:
        path: Path after the commit.
        old_path: Path before it; equal unless the file was renamed.
        hunks: Changed lines, against the first parent that has them.
        start, end: Range after the commit; 0 if all of it was removed.
        old_start, old_end: Range before it; 0 if the commit added all of it.
        note: Rename or move; empty otherwise.
    """

    commit: str
    path: str
    old_path: str
    hunks: tuple[Hunk, ...]
    start: int
    end: int
    old_start: int
    old_end: int
    note: str = ""


class _Move(NamedTuple):
    """Lines of another file, in the version before the move."""

    revision: str
    path: str
    start: int
    end: int


def trace_lines(  # noqa: PLR0913  # a range, and how far to trace it
    history: GitHistory,
    path: str,
    start: int,
    end: int,
    *,
    revision: str = "HEAD",
    name: str = "",
    read_declarations: ReadDeclarations | None = None,
    limit: int | None = None,
) -> list[LineChange]:
    """Trace the commits that changed lines of a range, newest first, through renames and moves.

    Args:
        history: The repository.
        path: Path relative to the indexed folder.
        start, end: Range in the commit `revision`.
        revision: Commit to begin with.
        name: Qualified name of the declaration in the range, to find where it was moved from; empty without one.
        read_declarations: Returns the declarations that a commit changed; needed with a name.
        limit: Maximum number of commits.

    Raises:
        HistoryError: git failed, or took longer than 30 s.
    """
    changes: list[LineChange] = []
    move: _Move | None = _Move(revision, path, start, end)
    for _ in range(_MAX_MOVES):
        if move is None or (limit is not None and len(changes) >= limit):
            break
        if changes:
            is_inside = move.path in (changes[-1].path, changes[-1].old_path)
            changes[-1] = replace(changes[-1], note=f"moved {'within' if is_inside else 'from'} {move.path}")
        rest = None if limit is None else limit - len(changes)
        part = list(_run_log(history, move, rest))
        if not part:
            break
        changes += part
        move = _find_move(history, part[-1], name, read_declarations) if rest is None or len(part) < rest else None
    return changes


def _run_log(history: GitHistory, move: _Move, limit: int | None) -> Iterator[LineChange]:
    arguments = [
        "-c", "core.quotePath=false", "log", f"-L{move.start},{move.end}:{move.path}", "--format=%x00%H%x00", "--no-color",
        "--no-decorate", "--no-textconv", "--no-ext-diff", "--no-show-signature",
    ]  # fmt: skip
    if limit is not None:
        arguments.append(f"--max-count={limit}")
    output = history.run(*arguments, "--end-of-options", move.revision, timeout_s=_TIMEOUT_S)
    parts = output.split(b"\0")
    commits: list[tuple[str, bytes]] = []
    index = 1
    while index + 1 < len(parts):
        commits.append((parts[index].decode("ascii", "replace"), parts[index + 1]))
        index += 2
        while index < len(parts) and not _ID.fullmatch(parts[index]):  # a NUL inside a line
            index += 1
    for commit, patch in commits:
        change = _parse_patch(commit, patch, history.prefix)
        if change is not None:
            yield change


def _parse_patch(commit: str, patch: bytes, prefix: str) -> LineChange | None:
    old_path = new_path = ""
    hunks: list[Hunk] = []
    bounds: list[tuple[int, int, int, int]] = []
    old = new = 0
    rest_old = rest_new = 0
    for line in patch.split(b"\n"):
        if rest_old > 0 or rest_new > 0:
            mark = line[:1]
            if mark == b"-":
                _extend(hunks, old, 1, new, 0)
                old, rest_old = old + 1, rest_old - 1
            elif mark == b"+":
                _extend(hunks, old, 0, new, 1)
                new, rest_new = new + 1, rest_new - 1
            elif mark == b" ":
                old, new, rest_old, rest_new = old + 1, new + 1, rest_old - 1, rest_new - 1
        elif line.startswith(b"--- "):
            old_path = _parse_path(line[4:], prefix)
        elif line.startswith(b"+++ "):
            new_path = _parse_path(line[4:], prefix)
        elif match := _HUNK.match(line):
            old, rest_old, new, rest_new = (1 if value is None else int(value) for value in match.groups())
            bounds.append((old, rest_old, new, rest_new))
            old, new = old + (not rest_old), new + (not rest_new)
    if not bounds:
        return None
    news = [(first, first + count - 1) for _, _, first, count in bounds if count]
    olds = [(first, first + count - 1) for first, count, _, _ in bounds if count]
    start, end = (news[0][0], news[-1][1]) if news else (0, 0)
    old_start, old_end = (olds[0][0], olds[-1][1]) if olds else (0, 0)
    note = f"renamed from {old_path}" if old_path and new_path and old_path != new_path else ""
    path = new_path or old_path
    return LineChange(commit, path, old_path or path, tuple(hunks), start, end, old_start, old_end, note)


def _extend(hunks: list[Hunk], old: int, old_count: int, new: int, new_count: int) -> None:
    """Add a changed line, to the last hunk if it touches it. `old` and `new` are the next lines of both versions."""
    if hunks:
        last = hunks[-1]
        old_next = last.old_start + last.old_count if last.old_count else last.old_start + 1
        new_next = last.new_start + last.new_count if last.new_count else last.new_start + 1
        if (old_next, new_next) == (old, new):
            merged_old, merged_new = last.old_count + old_count, last.new_count + new_count
            hunks[-1] = Hunk(
                old_next - last.old_count - (not merged_old),
                merged_old,
                new_next - last.new_count - (not merged_new),
                merged_new,
            )
            return
    hunks.append(Hunk(old - (not old_count), old_count, new - (not new_count), new_count))


def _parse_path(data: bytes, prefix: str) -> str:
    path = unquote_path(data.rstrip(b"\t"))
    # `-L` writes the prefixes of both sides, whatever the options are.
    return "" if path == "/dev/null" else path[2:].removeprefix(prefix)


def _find_move(
    history: GitHistory, change: LineChange, name: str, read_declarations: ReadDeclarations | None
) -> _Move | None:
    """Find where the lines were before the commit that added them; None if it wrote or copied them."""
    if change.old_start or not change.start:
        return None
    renames = _list_changed_paths(history, change.commit)
    if name and read_declarations is not None:
        last_name = _NAME_SEPARATORS.split(name)[-1]
        candidates = [
            other
            for other in read_declarations(change.commit)
            if other.old_start_line
            and _NAME_SEPARATORS.split(other.qualified_name)[-1] == last_name
            and (other.change == "removed" or (other.qualified_name, other.path) == (name, change.path))
        ]
        candidates.sort(key=lambda other: (other.qualified_name != name, other.path == change.path))
        for other in candidates:
            move = _Move(
                f"{change.commit}^", renames.get(other.path, other.path), other.old_start_line, other.old_end_line
            )
            if _is_similar(history, change, move):
                return move
    return _find_moved_lines(history, change, renames)


def _list_changed_paths(history: GitHistory, commit: str) -> dict[str, str]:
    """Return the paths that a commit changed or deleted, with their names before it."""
    output = history.try_run(
        "diff-tree", "-r", "-z", "-M", "--name-status", "--no-commit-id", "--diff-filter=MDRT", "--relative", commit
    )
    parts = iter((output or b"").split(b"\0")[:-1])
    paths: dict[str, str] = {}
    for status in parts:
        old = decode_path(next(parts, b""))
        new = decode_path(next(parts, b"")) if status.startswith(b"R") else old
        paths[new] = old
    return paths


def _is_similar(history: GitHistory, change: LineChange, move: _Move) -> bool:
    new = {line for line in _read_range(history, change) if line}
    old = {line for line in _read_lines(history, f"{move.revision}:./{move.path}")[move.start - 1 : move.end] if line}
    return bool(new and old) and len(new & old) >= _MIN_MOVED_SHARE * min(len(new), len(old))


def _find_moved_lines(history: GitHistory, change: LineChange, paths: Mapping[str, str]) -> _Move | None:
    """Find the changed file from which most lines of a range are gone."""
    lines = _read_range(history, change)
    if len(paths) > _MAX_SEARCHED_FILES:  # a reorganisation: files keep their names
        name = PurePosixPath(change.path).name
        paths = {new: old for new, old in paths.items() if PurePosixPath(old).name == name}
    best: tuple[int, _Move] | None = None
    for new_path, old_path in paths.items():
        before = _read_lines(history, f"{change.commit}^:./{old_path}")
        old_counts = Counter(before)
        if sum(line in old_counts for line in lines) < _MIN_MOVED_SHARE * len(lines):
            continue
        is_inside = new_path == change.path
        new_counts = Counter(_read_lines(history, f"{change.commit}:./{new_path}"))
        # The new version of the same file has the range itself.
        gone = [line for line in lines if line and new_counts[line] < old_counts[line] + is_inside]
        characters = sum(char.isalnum() for line in gone for char in line.decode("latin-1"))
        is_enough = characters >= (_MIN_CHARS_WITHIN if is_inside else _MIN_CHARS_BETWEEN)
        if is_enough and len(gone) >= _MIN_MOVED_SHARE * len(list(filter(None, lines))):
            matcher = SequenceMatcher(None, before, lines, autojunk=False)
            blocks = [block for block in matcher.get_matching_blocks() if block.size]
            largest = max(blocks, key=lambda block: block.size)
            near_blocks = [block for block in blocks if abs(block.a - largest.a) <= 2 * len(lines)]
            start, end = near_blocks[0].a + 1, max(block.a + block.size for block in near_blocks)
            if best is None or len(gone) > best[0]:
                best = len(gone), _Move(f"{change.commit}^", old_path, start, end)
    return best[1] if best is not None else None


def _read_range(history: GitHistory, change: LineChange) -> list[bytes]:
    """Return the lines of a range after a commit, without indentation."""
    return _read_lines(history, f"{change.commit}:./{change.path}")[change.start - 1 : change.end]


def _read_lines(history: GitHistory, name: str) -> list[bytes]:
    content = history.try_run("cat-file", "blob", name) or b""
    return [line.strip() for line in content[:MAX_FILE_BYTES].split(b"\n")]
