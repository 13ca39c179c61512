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

_LONGEST_RUN_NS: Final = 24 * 3600 * 10**9
"""No run of indexing reads a file longer than this before it commits."""

Status = tuple[int, int, int, int]
"""Size, times and number on disk: one that is another means that the file may be another."""


def status_of(file: Candidate | FileRecord) -> Status:
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
        self._hashes: dict[str, tuple[Status, str]] = {}

    def candidate(self, path: str) -> Candidate | None:
        """Return a file with its status; None if there is no regular file of that path."""
        try:
            status = os.lstat(self._prefix + path)
        except (OSError, ValueError):  # it is gone, may not be looked at, or its name cannot be one
            return None
        return candidate_of(path, status) if stat.S_ISREG(status.st_mode) else None

    def is_same(self, candidate: Candidate, record: FileRecord, checked_ns: int) -> bool:
        """Whether a file still has the content that is recorded.

        Args:
            candidate: The file as it was found just now.
            record: What is recorded of it; of a file that was read.
            checked_ns: When files were last looked at before they were read for these records, nanoseconds of the epoch; an
                earlier time costs but a look at more files.
        """
        is_proved = record.outcome == "failed" or not proves_nothing(record, checked_ns)
        if is_proved and status_of(candidate) == status_of(record):
            return True
        return bool(record.hash) and self.hash_of(candidate) == record.hash

    def hash_of(self, candidate: Candidate) -> str:
        """Return the SHA-256 of a file's content; empty if it cannot be read or is too large."""
        status = status_of(candidate)
        known = self._hashes.get(candidate.path)
        if known is not None and known[0] == status:
            return known[1]
        looked_ns = time.time_ns()
        try:
            data, read = read_regular(self._root / candidate.path, self._max_file_bytes)
        except (OSError, ValueError):
            return ""
        if len(data) > self._max_file_bytes:
            return ""
        digest = hashlib.sha256(data).hexdigest()
        found = candidate_of(candidate.path, read)
        settled = FileRecord(found.path, "indexed", mtime_ns=found.mtime_ns, ctime_ns=found.ctime_ns)
        if not proves_nothing(settled, looked_ns):  # else it may change once more within the same time stamp
            self._hashes[candidate.path] = status_of(found), digest
        return digest

    def folder_times(self, folders: Iterable[str]) -> dict[str, int]:
        """Return when something last came to or went from folders, in nanoseconds; 0 for those that are gone."""
        times = {}
        for folder in folders:
            try:
                times[folder] = os.lstat(self._prefix + folder).st_mtime_ns
            except OSError:
                times[folder] = 0
        return times


def earliest_look_ns(created: str) -> int:
    """Return a time before which no file was read for a generation.

    Args:
        created: When it was committed, ISO 8601.
    """
    return int(datetime.fromisoformat(created).timestamp() * 10**9) - _LONGEST_RUN_NS
