"""Which files differ from a generation of the index, as far as that was told or found out."""

import os
import stat
import weakref
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coderag.config.sections import IngestionSettings
from coderag.ingestion.files.candidates import Candidate
from coderag.ingestion.files.ignore import MARKERS
from coderag.ingestion.files.scanner import Scan, scan
from coderag.ingestion.live.disk_files import DiskFiles, FileStatus, compute_earliest_check_ns, get_file_status
from coderag.schema.chunks import FileRecord
from coderag.stores.manifest import load_manifest
from coderag.stores.snapshot import Snapshot

ROOT: Final = ""
"""The path that stands for the whole repository: anything in it may have changed."""

_NAME_BASED_REASONS = frozenset({"lock file", "minified file", "binary file"})
"""Reasons for which the scanner leaves out a file without looking at it, whatever is in it."""


@dataclass(slots=True)
class GenerationFiles:
    """What a generation says of its files, to be compared with those on disk.

    Attributes:
        snapshot: The generation, which this must not keep in memory.
        records: The record of every candidate file, by path.
        checked_ns: When its files were last looked at before they were read, or earlier: nanoseconds of the epoch.
        folders: When something last came to or went from each folder with indexed files, as it was looked at last.
    """

    snapshot: "weakref.ReferenceType[Snapshot]"
    records: Mapping[str, FileRecord]
    checked_ns: int
    is_exact: bool = False
    folders: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def from_snapshot(snapshot: Snapshot) -> "GenerationFiles":
        """Return that of a snapshot."""
        records = {record.path: record for record in snapshot.read_files()}
        return GenerationFiles(weakref.ref(snapshot), records, compute_earliest_check_ns(snapshot.pointer.created))

    def load_checked_ns(self) -> None:
        """Find out when exactly its files were looked at, which takes longer, but saves reading recent files."""
        snapshot = self.snapshot()
        if snapshot is not None and not self.is_exact:
            self.checked_ns = max(self.checked_ns, load_manifest(snapshot).checked_ns)
            self.is_exact = True

    def is_indexed(self, path: str) -> bool:
        """Whether a file has chunks in it."""
        record = self.records.get(path)
        return record is not None and record.outcome == "indexed"


class EditTracker:
    """The files that differ from one generation. Not for several threads at once.

    Args:
        root: Folder of the repository.
        settings: Says which files are candidates.
        disk: The files on disk.

    Attributes:
        known: The files that are known to differ, by path; None for those that are gone or left out now.
        skipped: The records of those among them that the scanner leaves out now.
        ignored: What the rules leave out, as far as the repository was walked: paths, of folders with ``/`` at the end.
    """

    def __init__(self, root: Path, settings: IngestionSettings, disk: DiskFiles) -> None:
        self._root = root
        self._settings = settings
        self._disk = disk
        self._generation: GenerationFiles | None = None
        self.edited: dict[str, Candidate | None] = {}
        self.skipped: dict[str, FileRecord] = {}
        self.ignored: frozenset[str] = frozenset()
        self._skipped_candidates: dict[str, Candidate | None] = {}
        self._excluded: frozenset[str] = frozenset()
        self._skipped_paths: frozenset[str] = frozenset()
        self._rule_statuses: dict[str, FileStatus | None] = {}  # files that say what is ignored, as of the last walk

    def compare(self, generation: GenerationFiles, changed_paths: Collection[str]) -> None:
        """Bring `known` up to date.

        Args:
            generation: What the files are compared with; what is known of another one is looked at again.
            told: Paths that may have changed since the last call; `ROOT` for any.
        """
        if generation is not self._generation:
            changed_paths = {*changed_paths, *self.edited}
            self._generation, self.edited, self.skipped = generation, {}, {}
        paths = _add_files_below({*changed_paths, *self.edited}, generation)
        needs_walk = [self._check_path(generation, path) for path in paths if path != ROOT]
        if ROOT in changed_paths or any(needs_walk):
            self._walk(generation)

    def check_all(self, generation: GenerationFiles) -> None:
        """Bring `known` up to date with all files that the generation has, and with new ones in their folders.

        A file that was left out for what was in it, or for its size, may be another one now.
        """
        generation.load_checked_ns()
        indexed = [path for path in generation.records if generation.is_indexed(path)]
        if self._has_folder_changes(generation, indexed):
            self.compare(generation, {ROOT})
        else:
            excluded = (record for record in generation.records.values() if record.outcome != "indexed")
            recheckable = [
                record.path for record in excluded if record.path[-1:] != "/" and not _is_excluded_by_name(record)
            ]
            self.compare(generation, [*indexed, *recheckable])

    def is_ignored(self, path: str) -> bool:
        """Whether the rules leave out a path, as far as the repository was walked."""
        parts = path.split("/")
        return not self.ignored.isdisjoint(
            (path, *("/".join(parts[:depth]) + "/" for depth in range(1, len(parts) + 1)))
        )

    def _has_folder_changes(self, generation: GenerationFiles, indexed: Iterable[str]) -> bool:
        """Whether files may have been added to folders, or their rules changed, since the last look, or since indexing."""
        folders = {"", *(path.rpartition("/")[0] for path in indexed)}
        times = self._disk.read_folder_times(folders)
        if generation.folders:
            changed = times != generation.folders
        else:
            root_time = times.pop("", 0)  # the index's own folder lies there
            changed = any(time >= generation.checked_ns for time in times.values())
            changed = changed or any(
                not generation.is_indexed(name) and name not in generation.records and not self.is_ignored(name)
                for name in self._list_root_files()
            )
            times[""] = root_time
        generation.folders = times
        return changed

    def _list_root_files(self) -> list[str]:
        try:
            with os.scandir(self._root) as entries:
                return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        except OSError:
            return []

    def _check_path(self, generation: GenerationFiles, path: str) -> bool:
        """Note whether one file differs; return whether only a walk can tell."""
        record, candidate = generation.records.get(path), self._disk.find_candidate(path)
        if path.rpartition("/")[2] in MARKERS and self._is_rule_changed(generation, path, candidate):
            return True
        if path in self.skipped:
            self.edited[path] = None
            return candidate != self._skipped_candidates[path]
        if candidate is None:
            return self._note_missing(generation, path)
        if path in self._excluded:
            self.edited[path] = None
            return False
        if record is None:
            return self._check_new_file(candidate)
        if self._is_still_excluded(candidate, record) or self._is_unchanged(generation, candidate, record):
            self.edited.pop(path, None)
        else:
            self.edited[path] = candidate
        return False

    def _note_missing(self, generation: GenerationFiles, path: str) -> bool:
        """Note a path without a regular file; return whether only a walk can tell what is there instead."""
        self.edited.pop(path, None)
        try:
            is_folder = stat.S_ISDIR(os.lstat(self._root / path).st_mode)
        except (OSError, ValueError):
            if path in generation.records:
                self.edited[path] = None
            return False
        if generation.is_indexed(path):
            self.edited[path] = None
            return True
        return is_folder and not self.is_ignored(path)

    def _check_new_file(self, candidate: Candidate) -> bool:
        """Note a file that the generation has not; return whether only a walk can tell if it is to be indexed."""
        if candidate.path in self.edited:
            self.edited[candidate.path] = candidate
            return False
        return not (candidate.path in self._skipped_paths or self.is_ignored(candidate.path))

    def _is_rule_changed(self, generation: GenerationFiles, path: str, candidate: Candidate | None) -> bool:
        """Whether a file that says what is ignored is another one than at the last walk, or than was indexed."""
        if path in self._rule_statuses:
            return (None if candidate is None else get_file_status(candidate)) != self._rule_statuses[path]
        record = generation.records.get(path)
        return candidate is None or record is None or not self._is_unchanged(generation, candidate, record)

    def _is_unchanged(self, generation: GenerationFiles, candidate: Candidate, record: FileRecord) -> bool:
        return self._disk.is_unchanged(candidate, record, generation.checked_ns)

    def _is_still_excluded(self, candidate: Candidate, record: FileRecord) -> bool:
        """Whether a file that is not indexed need not be read to know that it will not be."""
        if record.outcome != "skipped":
            return False
        return _is_excluded_by_name(record) or candidate.size > self._settings.max_file_bytes

    def _walk(self, generation: GenerationFiles) -> None:
        """Compare all files that there are."""
        generation.load_checked_ns()
        settings, records = self._settings, generation.records
        scan_result = scan(self._root, max_file_bytes=settings.max_file_bytes, exclude=settings.exclude)
        candidates = {candidate.path: candidate for candidate in scan_result.candidates}
        self.ignored = frozenset(path for path, _ in scan_result.ignored)
        self._rule_statuses |= dict.fromkeys(self._rule_statuses)
        self._rule_statuses |= {
            path: get_file_status(candidate)
            for path, candidate in candidates.items()
            if path.rpartition("/")[2] in MARKERS
        }
        absent = {
            path: self._disk.find_candidate(path) for path in records if path not in candidates and path[-1:] != "/"
        }
        self._note_skipped(scan_result, records)
        excluded = (
            path for path, candidate in absent.items() if candidate is not None and path not in self._skipped_paths
        )
        self._excluded = frozenset(excluded)
        self.edited = {
            path: candidate
            for path, candidate in candidates.items()
            if (record := records.get(path)) is None or not self._is_unchanged(generation, candidate, record)
        }
        gone = (path for path in absent if path not in self._skipped_paths)
        self.edited |= dict.fromkeys((*gone, *self.skipped))

    def _note_skipped(self, scan_result: Scan, records: Mapping[str, FileRecord]) -> None:
        """Note the files that the scanner leaves out now, and what they are like."""
        self._skipped_paths = frozenset(record.path for record in scan_result.skipped)
        self.skipped = {}
        for record in scan_result.skipped:
            old = records.get(record.path)
            if old is None or (old.outcome, old.reason) != (record.outcome, record.reason):
                self.skipped[record.path] = record
        self._skipped_candidates = {path: self._disk.find_candidate(path) for path in self.skipped}


def _is_excluded_by_name(record: FileRecord) -> bool:
    return record.reason in _NAME_BASED_REASONS and not record.hash  # what was read has a hash


def _add_files_below(paths: Collection[str], generation: GenerationFiles) -> list[str]:
    """Return paths, and the indexed files below those that are no indexed files themselves: a folder may be gone."""
    folders = tuple(f"{path}/" for path in paths if path and path not in generation.records)
    files_below = [path for path in generation.records if path.startswith(folders)] if folders else []
    return [*paths, *files_below]
