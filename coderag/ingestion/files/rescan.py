"""Update of a scan for a few edited files, without walking the repository again."""

import os
import stat
from bisect import bisect_left
from collections.abc import Collection
from pathlib import Path

from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.ignore import MARKERS
from coderag.ingestion.files.scanner import Scan, make_candidate


def rescan(root: Path, previous: Scan, paths: Collection[str], *, max_file_bytes: int) -> Scan | None:
    """Update the last scan with the current status of some files; return None if a full walk is needed.

    Only edits and deletions of known files can be applied: a new file may be ignored, and an ignore file affects other files.

    Args:
        root: Folder of the repository.
        previous: The last scan.
        paths: Possibly changed paths, relative to the root. Paths that are neither known nor present are ignored.
        max_file_bytes: Larger files are skipped.
    """
    known_paths = [candidate.path for candidate in previous.candidates]
    changed: dict[int, FileCandidate | None] = {}
    for path in paths:
        position = bisect_left(known_paths, path)
        is_known = position < len(known_paths) and known_paths[position] == path
        try:
            status = os.lstat(root / path)
        except (FileNotFoundError, NotADirectoryError):
            if is_known:
                changed[position] = None
            elif _is_known_directory(known_paths, position, path):
                return None  # a removed folder
            continue
        except OSError:
            return None
        name = path.rpartition("/")[2]
        if not is_known or not stat.S_ISREG(status.st_mode) or name in MARKERS:
            return None
        if status.st_size > max_file_bytes:
            return None
        changed[position] = make_candidate(path, status)
    candidates = [
        candidate
        for position, old in enumerate(previous.candidates)
        if (candidate := changed.get(position, old)) is not None
    ]
    return Scan(candidates, previous.skipped, previous.ignored)


def _is_known_directory(known_paths: list[str], position: int, path: str) -> bool:
    return position < len(known_paths) and known_paths[position].startswith(f"{path}/")
