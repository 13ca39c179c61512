"""Tracking of the files that differ from a generation of the index."""

import os
import stat
import weakref
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coderag.config.sections import IngestionSettings
from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.ignore import MARKERS
from coderag.ingestion.files.scanner import Scan, scan
from coderag.ingestion.live.disk_files import DiskFiles, FileStatus, compute_earliest_check_ns, get_file_status
from coderag.schema.chunks import FileRecord
from coderag.stores.manifest import load_manifest
from coderag.stores.snapshot import Snapshot

ROOT: Final = ""
"""Path that stands for the whole repository: any file may have changed."""

_NAME_BASED_REASONS = frozenset({"lock file", "minified file", "binary file"})
"""Reasons for which the scanner skips a file by name, whatever its content."""


@dataclass(slots=True)
class GenerationFiles:
    """File records of a generation, for comparison with the files on disk.

    Attributes:
        snapshot: The generation, as a weak reference.
        records: The record of every candidate file, by path.
        checked_ns: Time of the scan before its files were read, or earlier, in nanoseconds since the epoch.
        folders: Last seen mtime of each folder that may hold files.
    """

    snapshot: "weakref.ReferenceType[Snapshot]"
    records: Mapping[str, FileRecord]
    checked_ns: int
    is_exact: bool = False
    folders: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def from_snapshot(snapshot: Snapshot) -> "GenerationFiles":
        """Return the file records of a snapshot."""
        records = {record.path: record for record in snapshot.read_files()}
        return GenerationFiles(weakref.ref(snapshot), records, compute_earliest_check_ns(snapshot.pointer.created))

    def load_checked_ns(self) -> None:
        """Load the exact scan time from the manifest: slower, but fewer recent files are read."""
        snapshot = self.snapshot()
        if snapshot is not None and not self.is_exact:
            self.checked_ns = max(self.checked_ns, load_manifest(snapshot).checked_ns)
            self.is_exact = True

    def is_indexed(self, path: str) -> bool:
        """Return whether a file has chunks in the generation."""
        record = self.records.get(path)
        return record is not None and record.outcome == "indexed"


class EditTracker:
    """Files that differ from one generation. Not thread-safe.

    Args:
        root: Folder of the repository.
        settings: Determines the candidate files.
        disk: The files on disk.

    Attributes:
        edited: Files that differ, by path; None for those that are deleted or now skipped.
        skipped: Records of those that the scanner now skips.
        ignored: Paths that the ignore rules exclude, as of the last walk; folders end in ``/``.
    """

    def __init__(self, root: Path, settings: IngestionSettings, disk: DiskFiles) -> None:
        self._root = root
        self._settings = settings
        self._disk = disk
        self._generation: GenerationFiles | None = None
        self.edited: dict[str, FileCandidate | None] = {}
        self.skipped: dict[str, FileRecord] = {}
        self.ignored: frozenset[str] = frozenset()
        self._skipped_candidates: dict[str, FileCandidate | None] = {}
        self._excluded: frozenset[str] = frozenset()
        self._skipped_paths: frozenset[str] = frozenset()
        self._rule_statuses: dict[str, FileStatus | None] = {}  # ignore files and their statuses, as of the last walk

    def compare(self, generation: GenerationFiles, changed_paths: Collection[str]) -> None:
        """Bring `edited` up to date.

        Args:
            generation: The generation to compare with. After a switch, known edits are checked again.
            changed_paths: Paths that may have changed since the last call; `ROOT` for all.
        """
        if generation is not self._generation:
            changed_paths = {*changed_paths, *self.edited}
            self._generation, self.edited, self.skipped = generation, {}, {}
        paths = _add_files_below({*changed_paths, *self.edited}, generation)
        needs_walk = [self._check_path(generation, path) for path in paths if path != ROOT]
        if ROOT in changed_paths or any(needs_walk):
            self._walk(generation)

    def check_all(self, generation: GenerationFiles) -> None:
        """Bring `edited` up to date with all files of the generation, and with new files in their folders.

        A file that was skipped for its content or size may be indexable now.
        """
        generation.load_checked_ns()
        indexed = [path for path in generation.records if generation.is_indexed(path)]
        if self._has_folder_changes(generation):
            self.compare(generation, {ROOT})
        else:
            excluded = (record for record in generation.records.values() if record.outcome != "indexed")
            recheckable = [
                record.path for record in excluded if record.path[-1:] != "/" and not _is_excluded_by_name(record)
            ]
            self.compare(generation, [*indexed, *recheckable])

    def is_ignored(self, path: str) -> bool:
        """Return whether the ignore rules exclude a path, as of the last walk."""
        parts = path.split("/")
        return not self.ignored.isdisjoint(
            (path, *("/".join(parts[:depth]) + "/" for depth in range(1, len(parts) + 1)))
        )

    def _has_folder_changes(self, generation: GenerationFiles) -> bool:
        """Return whether files or rules may have been added to folders since the last check, or since indexing."""
        folders = _list_folders([*generation.records, *self.edited])
        previous = generation.folders
        has_new_entries = False
        if not previous:
            unlisted = self._disk.find_unlisted_folders(folders)
            has_new_entries = any(change_ns >= generation.checked_ns for change_ns in unlisted.values())
            folders |= unlisted.keys()
        checked = [folder for folder in {*folders, *previous} if not self.is_ignored(folder)]
        generation.folders = times = self._disk.read_folder_times(checked)
        if previous:
            return any(previous.get(folder) != time for folder, time in times.items())
        # The mtime of the root changes with the index folder, which is in it.
        return (
            has_new_entries
            or any(time >= generation.checked_ns for folder, time in times.items() if folder)
            or any(
                not generation.is_indexed(name) and name not in generation.records and not self.is_ignored(name)
                for name in self._list_root_files()
            )
        )

    def _list_root_files(self) -> list[str]:
        try:
            with os.scandir(self._root) as entries:
                return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        except OSError:
            return []

    def _check_path(self, generation: GenerationFiles, path: str) -> bool:
        """Check a file; return whether only a walk can determine its state."""
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
        """Note a path that is not a regular file; return whether only a walk can determine its state."""
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

    def _check_new_file(self, candidate: FileCandidate) -> bool:
        """Note a file that the generation lacks; return whether only a walk can determine whether to index it."""
        if candidate.path in self.edited:
            self.edited[candidate.path] = candidate
            return False
        return not (candidate.path in self._skipped_paths or self.is_ignored(candidate.path))

    def _is_rule_changed(self, generation: GenerationFiles, path: str, candidate: FileCandidate | None) -> bool:
        """Return whether an ignore file has changed since the last walk, or since indexing."""
        if path in self._rule_statuses:
            return (None if candidate is None else get_file_status(candidate)) != self._rule_statuses[path]
        record = generation.records.get(path)
        return candidate is None or record is None or not self._is_unchanged(generation, candidate, record)

    def _is_unchanged(self, generation: GenerationFiles, candidate: FileCandidate, record: FileRecord) -> bool:
        return self._disk.is_unchanged(candidate, record, generation.checked_ns)

    def _is_still_excluded(self, candidate: FileCandidate, record: FileRecord) -> bool:
        """Return whether a skipped file is certain to remain skipped, without reading it."""
        if record.outcome != "skipped":
            return False
        return _is_excluded_by_name(record) or candidate.size > self._settings.max_file_bytes

    def _walk(self, generation: GenerationFiles) -> None:
        """Compare all files of the repository."""
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
        """Note the files that the scanner now skips, with their statuses."""
        self._skipped_paths = frozenset(record.path for record in scan_result.skipped)
        self.skipped = {}
        for record in scan_result.skipped:
            old = records.get(record.path)
            if old is None or (old.outcome, old.reason) != (record.outcome, record.reason):
                self.skipped[record.path] = record
        self._skipped_candidates = {path: self._disk.find_candidate(path) for path in self.skipped}


def _is_excluded_by_name(record: FileRecord) -> bool:
    return record.reason in _NAME_BASED_REASONS and not record.hash  # a file that was read has a hash


def _list_folders(paths: Iterable[str]) -> set[str]:
    """Return all folders above some paths, the root included."""
    folders = {ROOT}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def _add_files_below(paths: Collection[str], generation: GenerationFiles) -> list[str]:
    """Return the paths, and the indexed files below paths that are not indexed files: a folder may be gone."""
    folders = tuple(f"{path}/" for path in paths if path and path not in generation.records)
    files_below = [path for path in generation.records if path.startswith(folders)] if folders else []
    return [*paths, *files_below]
