"""Whether files on disk still are what is recorded of them: told by their status, and by their content where that may lie."""

import hashlib
import os
import stat
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from coderag.ingestion.files.candidates import Candidate
from coderag.ingestion.files.changes import proves_nothing
from coderag.ingestion.files.scanner import candidate_of
from coderag.ingestion.files.source import read_regular
from coderag.schema.chunks import FileRecord

_MAX_RUN_NS: Final = 24 * 3600 * 10**9
"""No run of indexing reads a file longer than this before it commits."""

FileStatus = tuple[int, int, int, int]
"""Size, times and number on disk: one that is another means that the file may be another."""


def get_file_status(file: Candidate | FileRecord) -> FileStatus:
    """Return the status of a file."""
    return file.size, file.mtime_ns, file.ctime_ns, file.inode


class DiskFiles:
    """The files of one repository as they are on disk.

    What was found of a file's content is kept, so that it is read again only after its status has changed. It may be used by
    several threads.

    Args:
        root: Folder of the repository.
        max_file_bytes: Larger files are not read.
    """

    def __init__(self, root: Path, max_file_bytes: int) -> None:
        self._root = root
        self._prefix = f"{root}{os.sep}"
        self._max_file_bytes = max_file_bytes
        self._hashes: dict[str, tuple[FileStatus, str]] = {}

    def find_candidate(self, path: str) -> Candidate | None:
        """Return a file with its status; None if there is no regular file of that path."""
        try:
            status = os.lstat(self._prefix + path)
        except (OSError, ValueError):  # it is gone, may not be looked at, or its name cannot be one
            return None
        return candidate_of(path, status) if stat.S_ISREG(status.st_mode) else None

    def is_unchanged(self, candidate: Candidate, record: FileRecord, checked_ns: int) -> bool:
        """Whether a file still has the content that is recorded.

        Args:
            candidate: The file as it was found just now.
            record: What is recorded of it; of a file that was read.
            checked_ns: When files were last looked at before they were read for these records, nanoseconds of the epoch; an
                earlier time costs but a look at more files.
        """
        is_status_conclusive = record.outcome == "failed" or not proves_nothing(record, checked_ns)
        if is_status_conclusive and get_file_status(candidate) == get_file_status(record):
            return True
        return bool(record.hash) and self.compute_hash(candidate) == record.hash

    def compute_hash(self, candidate: Candidate) -> str:
        """Return the SHA-256 of a file's content; empty if it cannot be read or is too large."""
        status = get_file_status(candidate)
        cached = self._hashes.get(candidate.path)
        if cached is not None and cached[0] == status:
            return cached[1]
        read_ns = time.time_ns()
        try:
            data, read_status = read_regular(self._root / candidate.path, self._max_file_bytes)
        except (OSError, ValueError):
            return ""
        if len(data) > self._max_file_bytes:
            return ""
        digest = hashlib.sha256(data).hexdigest()
        read_candidate = candidate_of(candidate.path, read_status)
        probe = FileRecord(
            read_candidate.path, "indexed", mtime_ns=read_candidate.mtime_ns, ctime_ns=read_candidate.ctime_ns
        )
        if not proves_nothing(probe, read_ns):  # else it may change once more within the same time stamp
            self._hashes[candidate.path] = get_file_status(read_candidate), digest
        return digest

    def read_folder_times(self, folders: Iterable[str]) -> dict[str, int]:
        """Return when something last came to or went from folders, in nanoseconds; 0 for those that are gone."""
        times = {}
        for folder in folders:
            try:
                times[folder] = os.lstat(self._prefix + folder).st_mtime_ns
            except OSError:
                times[folder] = 0
        return times


def compute_earliest_check_ns(created: str) -> int:
    """Return a time before which no file was read for a generation.

    Args:
        created: When it was committed, ISO 8601.
    """
    return int(datetime.fromisoformat(created).timestamp() * 10**9) - _MAX_RUN_NS
