"""A scan brought up to date with a few edits, without walking the repository again."""

import os
import stat
from bisect import bisect_left
from collections.abc import Collection
from pathlib import Path

from coderag.ingestion.files.candidates import Candidate
from coderag.ingestion.files.ignore import MARKERS
from coderag.ingestion.files.scanner import Scan, candidate_of


def rescan(root: Path, last: Scan, paths: Collection[str], *, max_file_bytes: int) -> Scan | None:
    """Return the last scan with the status of some files as it is now; None if only a walk can tell.

    Edits and deletions of files that are known can be told; a new file may be ignored, and an ignore file changes what is.

    Args:
        root: Folder of the repository.
        last: What a walk found.
        paths: What may have changed since, relative to the root; what is neither known nor there does not matter.
        max_file_bytes: Larger files are skipped.
    """
    known = [candidate.path for candidate in last.candidates]
    changed: dict[int, Candidate | None] = {}
    for path in paths:
        position = bisect_left(known, path)
        is_known = position < len(known) and known[position] == path
        try:
            status = os.lstat(root / path)
        except (FileNotFoundError, NotADirectoryError):
            if is_known:
                changed[position] = None
            elif _lies_above(known, position, path):
                return None  # a folder that is gone
            continue
        except OSError:
            return None
        name = path.rpartition("/")[2]
        if not is_known or not stat.S_ISREG(status.st_mode) or name in MARKERS:
            return None
        if status.st_size > max_file_bytes:
            return None
        changed[position] = candidate_of(path, status)
    candidates = [
        candidate
        for position, old in enumerate(last.candidates)
        if (candidate := changed.get(position, old)) is not None
    ]
    return Scan(candidates, last.skipped, last.ignored)


def _lies_above(known: list[str], position: int, path: str) -> bool:
    return position < len(known) and known[position].startswith(f"{path}/")
