"""Comparison of files on disk with their records: by status, and by content where the status is inconclusive."""

import hashlib
import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Set
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.changes import needs_reading
from coderag.ingestion.files.regular_files import read_regular_file
from coderag.ingestion.files.scanner import is_never_scanned, make_candidate
from coderag.schema.chunks import FileRecord

_MAX_RUN_NS: Final = 24 * 3600 * 10**9
"""Maximum time between reading a file and committing it."""

_MAX_UNLISTED_FOLDERS: Final = 500

FileStatus = tuple[int, int, int, int]
"""Size, mtime, ctime and inode: a different status means that the file may have changed."""


def get_file_status(file: FileCandidate | FileRecord) -> FileStatus:
    """Return the status of a file."""
    return file.size, file.mtime_ns, file.ctime_ns, file.inode


class DiskFiles:
    """Files of one repository as they are on disk. Thread-safe.

    Content hashes are cached, so a file is read again only after its status has changed.

    Args:
        root: Folder of the repository.
        max_file_bytes: Larger files are not read.
    """

    def __init__(self, root: Path, max_file_bytes: int) -> None:
        self._root = root
        self._prefix = f"{root}{os.sep}"
        self._max_file_bytes = max_file_bytes
        self._hashes: dict[str, tuple[FileStatus, str]] = {}

    def find_candidate(self, path: str) -> FileCandidate | None:
        """Return a file with its status, or None if the path is not a regular file."""
        try:
            status = os.lstat(self._prefix + path)
        except (OSError, ValueError):  # it is gone, access is denied, or the name is invalid
            return None
        return make_candidate(path, status) if stat.S_ISREG(status.st_mode) else None

    def is_unchanged(self, candidate: FileCandidate, record: FileRecord, checked_ns: int) -> bool:
        """Return whether a file still has the recorded content.

        Args:
            candidate: The file with its current status.
            record: Its record, of a file that was read.
            checked_ns: Time of the scan before these records were read, in nanoseconds since the epoch. An earlier time
                only causes more files to be read.
        """
        is_status_conclusive = record.outcome == "failed" or not needs_reading(record, checked_ns)
        if is_status_conclusive and get_file_status(candidate) == get_file_status(record):
            return True
        return bool(record.hash) and self.compute_hash(candidate) == record.hash

    def compute_hash(self, candidate: FileCandidate) -> str:
        """Return the SHA-256 of a file's content; empty if it cannot be read or is too large."""
        status = get_file_status(candidate)
        cached = self._hashes.get(candidate.path)
        if cached is not None and cached[0] == status:
            return cached[1]
        read_ns = time.time_ns()
        try:
            data, read_status = read_regular_file(self._root / candidate.path, self._max_file_bytes)
        except (OSError, ValueError):
            return ""
        if len(data) > self._max_file_bytes:
            return ""
        digest = hashlib.sha256(data).hexdigest()
        read_candidate = make_candidate(candidate.path, read_status)
        probe = FileRecord(
            read_candidate.path, "indexed", mtime_ns=read_candidate.mtime_ns, ctime_ns=read_candidate.ctime_ns
        )
        if not needs_reading(probe, read_ns):  # otherwise it may change again within the same time stamp
            self._hashes[candidate.path] = get_file_status(read_candidate), digest
        return digest

    def read_folder_times(self, folders: Iterable[str]) -> dict[str, int]:
        """Return the mtimes of folders in nanoseconds; 0 for folders that are gone."""
        times = {}
        for folder in folders:
            try:
                times[folder] = os.lstat(self._prefix + folder).st_mtime_ns
            except OSError:
                times[folder] = 0
        return times

    def find_unlisted_folders(self, folders: Set[str]) -> dict[str, int]:
        """Find folders outside a list: new ones, and those without any file when the list was made.

        Folders below unlisted ones are found as well, up to a maximum, as an ignored one may hold thousands.

        Args:
            folders: Listed folders, relative to the root, each with those above it.

        Returns:
            The time of the last change of each, ns since the epoch: of its entries, or of its place.
        """
        unlisted: dict[str, int] = {}
        pending = deque(folders)
        while pending and len(unlisted) < _MAX_UNLISTED_FOLDERS:
            folder = pending.popleft()
            for entry in _list_subfolders(self._prefix + folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if path in folders:
                    continue
                with suppress(OSError):  # gone meanwhile
                    status = entry.stat(follow_symlinks=False)
                    unlisted[path] = max(status.st_mtime_ns, status.st_ctime_ns)
                    pending.append(path)
        return unlisted


def _list_subfolders(folder: str) -> list["os.DirEntry[str]"]:
    """Return the folders directly in a folder that a scan may enter."""
    try:
        with os.scandir(folder) as entries:
            return [
                entry for entry in entries if entry.is_dir(follow_symlinks=False) and not is_never_scanned(entry.name)
            ]
    except OSError:
        return []


def compute_earliest_check_ns(created: str) -> int:
    """Compute a time before which no file was read for a generation.

    Args:
        created: Time of its commit, ISO 8601.
    """
    return int(datetime.fromisoformat(created).timestamp() * 10**9) - _MAX_RUN_NS
