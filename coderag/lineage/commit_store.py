"""Commits of a repository in the folder of its index, read once and then kept up to date.

Layout of ``lineage/``::

    CURRENT                     tip, settings and segments, replaced atomically
    commits-<tip>-<commits>.bin columns of consecutive commits
    declarations-v1.sqlite      changed declarations by commit

A segment holds the commits that are reachable from its tip and not from the tip of the segment before. A refresh keeps the
segments whose tips are ancestors of ``HEAD`` and reads the commits after them: all but the latest if another branch is checked
out, and none if the history was rewritten from its beginning. Small segments are merged. Where the format or a setting differs,
or a file is damaged, everything is read again: 0.1 ms a commit.
"""

import json
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from coderag.errors import HistoryError
from coderag.lineage.column_file import ColumnFile, DamagedColumnsError, encode_columns
from coderag.lineage.commit_segment import build_segment
from coderag.lineage.commit_table import CommitTable
from coderag.lineage.git_history import GitHistory
from coderag.lineage.git_log import LogEntry, decode_path, read_log
from coderag.lineage.people import PeopleMask
from coderag.stores.disk import create_index_directory
from coderag.system.atomic_write import atomic_write

_logger = logging.getLogger(__name__)

FOLDER: Final = "lineage"
_FORMAT: Final = 1
_POINTER: Final = "CURRENT"
_MAX_SEGMENTS: Final = 6
_RECENT_COMMITS: Final = 200
"""First-parent commits below the tip that get a segment of their own, because another branch may lack them."""

_MIN_SIZE_RATIO: Final = 4
"""Size of the first segment, relative to the others, from which merging leaves it as it is."""

_STALE_S: Final = 600
"""Age in seconds from which a file that no pointer names is removed; a concurrent refresh may be about to name it."""


@dataclass(frozen=True, slots=True)
class _Pointer:
    """Content of the pointer.

    Attributes:
        since: Setting ``lineage.since``, resolved.
        scope: What the commits depend on besides their tip: the folder, the boundary of a shallow clone.
        segments: Names of the files, oldest first.
        note: Remark on what could not be read.
    """

    tip: str
    since: str
    scope: str
    segments: tuple[str, ...]
    note: str = ""
    format: int = _FORMAT


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The commits reachable from ``HEAD``.

    Attributes:
        segments: Name and number of commits of each segment, oldest first.
        note: Remark on what could not be read; empty if all was.
        size: Bytes on disk.
        is_stored: Whether they are on disk; otherwise the folder cannot be written.
    """

    table: CommitTable
    tip: str
    segments: Sequence[tuple[str, int]]
    note: str = ""
    size: int = 0
    is_stored: bool = True


class _Loaded(NamedTuple):
    pointer: _Pointer
    history: StoredHistory
    files: list[ColumnFile]


class CommitStore:
    """Commits of one repository.

    Args:
        index_folder: Folder of the index; created when commits are stored.
        mask: Masks people in what is returned.
    """

    def __init__(self, index_folder: Path, mask: PeopleMask) -> None:
        self._index_folder = index_folder
        self.folder = index_folder / FOLDER
        self.mask = mask
        self._loaded: _Loaded | None = None

    def refresh(self, history: GitHistory, since: str = "") -> StoredHistory:
        """Read the commits that are not stored yet, and return all.

        Args:
            history: The repository.
            since: Options that limit the history, such as ``--since=2020-01-01`` or ``^v1.0``; empty without a limit.

        Raises:
            HistoryError: There are no commits, or git failed.
        """
        tip = history.head
        if not tip:
            raise HistoryError("the repository has no commits", hint="Commit something first.", state="no_commits")
        scope = f"{history.prefix}\0{history.id_bytes}\0{','.join(sorted(history.boundary))}"
        new = _Pointer(tip, since, scope, ())
        current = self._load(history.id_bytes)
        if current is None or (current.pointer.since, current.pointer.scope) != (since, scope):
            return self._append(history, None, new)
        if current.pointer.tip == tip:
            return current.history
        return self._append(history, current, new)

    # Internals

    def _load(self, id_bytes: int) -> _Loaded | None:
        """Load what is stored; None if there is nothing usable."""
        loaded = self._loaded
        if loaded is not None and not loaded.history.is_stored:
            return loaded
        try:
            values = json.loads((self.folder / _POINTER).read_bytes())
            if values.get("format") != _FORMAT:
                return None
            pointer = _Pointer(**{**values, "segments": tuple(values["segments"])})
            if loaded is not None and loaded.pointer == pointer:
                return loaded
            names = [PurePath(name).name for name in pointer.segments]
            files = [ColumnFile(self.folder / name, (self.folder / name).read_bytes()) for name in names]
            self._loaded = self._build(pointer, files, id_bytes, is_stored=True)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, DamagedColumnsError):
            return None
        return self._loaded

    def _build(self, pointer: _Pointer, files: list[ColumnFile], id_bytes: int, *, is_stored: bool) -> _Loaded:
        table = CommitTable(files, id_bytes, self.mask)
        size = sum(file.size for file in files)
        segments = [(name, int(file.meta["commits"])) for name, file in zip(pointer.segments, files, strict=True)]
        return _Loaded(pointer, StoredHistory(table, pointer.tip, segments, pointer.note, size, is_stored), files)

    def _append(self, history: GitHistory, current: _Loaded | None, new: _Pointer) -> StoredHistory:
        """Keep the segments that belong to the new tip, and read the commits after them."""
        usable = current if current is not None and not current.pointer.note else None
        names, files = (list(usable.pointer.segments), list(usable.files)) if usable is not None else ([], [])
        part = _read_part(history, new, new.tip, names[-1]) if names else None
        if usable is not None and (part is None or len(names) >= _MAX_SEGMENTS):
            names, files = _select_segments(history, usable, new.tip)
            part = _read_part(history, new, new.tip, names[-1]) if names else None
        if part is not None:
            parts = [part]
        else:
            names, files = [], []
            base = history.find_commit(f"{new.tip}~{_RECENT_COMMITS}")
            first = [_read_all(history, new, base)] if base else []
            parts = [*first, _read_all(history, new, new.tip, *(part.name for part in first))]
        contents = {}
        for part in parts:
            columns = build_segment(part.entries, _read_merged_paths(history, part.entries), history.id_bytes)
            contents[part.name] = encode_columns({"commits": len(part.entries)}, columns)
            files.append(ColumnFile(self.folder / part.name, contents[part.name]))
            names.append(part.name)
        notes = [part.note for part in parts]
        pointer = replace(new, segments=tuple(names), note=next(filter(None, notes), ""))
        is_stored = self._write(pointer, contents)
        self._loaded = self._build(pointer, files, history.id_bytes, is_stored=is_stored)
        return self._loaded.history

    def _write(self, pointer: _Pointer, contents: Mapping[str, bytes]) -> bool:
        """Write segments and the pointer; return False if the folder cannot be written."""
        try:
            create_index_directory(self._index_folder)
            self.folder.mkdir(exist_ok=True)
            for name, content in contents.items():
                atomic_write(self.folder / name, [content], is_durable=False)
            atomic_write(self.folder / _POINTER, [json.dumps(asdict(pointer)).encode()], is_durable=False)
        except OSError as error:  # reading history works without a place to store it
            _logger.warning("cannot store commits in %s: %s", self.folder, error)
            return False
        self._remove_stale(pointer)
        return True

    def _remove_stale(self, pointer: _Pointer) -> None:
        oldest = time.time() - _STALE_S
        with suppress(OSError):
            for path in (*self.folder.glob("commits-*.bin"), *self.folder.glob("terms-*.bin")):
                if path.name.replace("terms-", "commits-") not in pointer.segments and path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)


def _select_segments(history: GitHistory, current: _Loaded, tip: str) -> tuple[list[str], list[ColumnFile]]:
    """Return the stored segments that hold ancestors of a tip, without small ones if there are many."""
    names, files = list(current.pointer.segments), list(current.files)
    while names and not history.is_ancestor(_parse_tip(names[-1]), tip):
        names.pop()
        files.pop()
    if len(names) < _MAX_SEGMENTS:
        return names, files
    is_large = sum(file.size for file in files[1:]) * _MIN_SIZE_RATIO > files[0].size
    return ([], []) if is_large else (names[:1], files[:1])


class _Part(NamedTuple):
    """Commits of a new segment, oldest first, and a remark on what could not be read."""

    name: str
    entries: list[LogEntry]
    note: str


def _read_part(history: GitHistory, new: _Pointer, tip: str, last_segment: str) -> _Part | None:
    """Read the commits after a segment; None if its tip is not an ancestor of the new one.

    If it is, some commit after it has it as its parent.
    """
    part = _read_all(history, new, tip, last_segment)
    last_tip = _parse_tip(last_segment)
    return part if any(last_tip in entry.parents for entry in part.entries) else None


def _read_all(history: GitHistory, new: _Pointer, tip: str, *last_segment: str) -> _Part:
    """Read the commits of a tip that are not in the segments up to the last one."""
    excluded = [f"^{_parse_tip(name)}" for name in last_segment]
    entries, note = _read_entries(history, [tip, *excluded, *([new.since] if new.since else [])])
    return _Part(f"commits-{tip}-{len(entries)}.bin", entries, note)


def _parse_tip(name: str) -> str:
    """Return the newest commit of a segment."""
    return name.split("-")[1]


def _read_entries(history: GitHistory, arguments: Sequence[str]) -> tuple[list[LogEntry], str]:
    """Read commits, oldest first, without their changes where objects are missing."""
    options = ["--topo-order", *(argument for argument in arguments if argument.startswith("--"))]
    revisions = [argument for argument in arguments if not argument.startswith("--")]
    note = ""
    try:
        entries = list(read_log(history, revisions, options=options))
    except HistoryError as error:
        if not history.is_partial:
            raise
        note = f"The files of commits are unknown, because this clone lacks objects: {error}."
        entries = list(read_log(history, revisions, options=options, has_changes=False))
    entries.reverse()
    return entries, note


def _read_merged_paths(history: GitHistory, entries: Sequence[LogEntry]) -> Mapping[str, Collection[str]]:
    """Read the paths that each merge has in a version of its own, which none of its parents has."""
    merges = [entry.id for entry in entries if len(entry.parents) > 1]
    if not merges:
        return {}
    output = history.try_run(
        "diff-tree", "--stdin", "-r", "-c", "-z", "--name-only", "--root", "--no-textconv", "--no-ext-diff",
        "--no-renames", "--relative", stdin="".join(f"{merge}\n" for merge in merges).encode(),
    )  # fmt: skip
    known = set(merges)
    paths: dict[str, set[str]] = {}
    current: set[str] = set()
    for token in (output or b"").split(b"\0"):
        # With -z, the id of a commit ends with a NUL, too.
        text = decode_path(token.strip(b"\n")) if token else ""
        if text in known and text not in paths:
            current = paths.setdefault(text, set())
        elif text:
            current.add(text)
    return paths
