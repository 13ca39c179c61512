"""What is noted of a generation's files at its commit: whether one is missing, cut short or overwritten is told by it.

What is noted is the size, and a checksum of the end. Lance keeps there where everything else lies, and trusts it: a wrong
number makes it ask for so much memory that the process is aborted. To read the whole of each file would take as long as
reading the index.
"""

import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from coderag.errors import StoreError
from coderag.stores.disk import map_storage_errors
from coderag.stores.pointer import FORMAT_DIRECTORY, REBUILD_HINT, Pointer

_CHECKSUM_TAIL_BYTES: Final = 1 << 16

FileFingerprints = Mapping[str, tuple[int, int]]


def fingerprint_files(
    index_directory: Path, paths: Iterable[Path], previous: FileFingerprints
) -> dict[str, tuple[int, int]]:
    """Return the size of each file in bytes and the checksum of its end, by its path in the format's directory.

    Args:
        index_directory: The index's directory.
        paths: The files.
        known: What was noted at the last commit: no file is written twice.
    """
    root = index_directory / FORMAT_DIRECTORY
    with map_storage_errors(f"read {root}"):
        paths_by_name = {str(path)[len(str(root)) + 1 :].replace(os.sep, "/"): path for path in paths}
        return {
            name: previous.get(name) or (path.stat().st_size, _compute_tail_checksum(path))
            for name, path in paths_by_name.items()
        }


def check_files(
    index_directory: Path, pointer: Pointer, *, subdirectory: str = "", check_checksums: bool = False
) -> None:
    """Refuse a generation whose files are not those that were committed.

    A generation of a version that noted nothing of them passes.

    Args:
        index_directory: The index's directory.
        pointer: The generation.
        within: A directory in that of the format; by default the files of all are checked.
        ends: Whether to check the ends of the files as well as their sizes.

    Raises:
        StoreError: A file is missing, is not as it was committed, or cannot be read.
    """
    root = index_directory / FORMAT_DIRECTORY
    for name, (size, checksum) in pointer.contents.items():
        if subdirectory and not name.startswith(f"{subdirectory}/"):
            continue
        path = root / name
        with map_storage_errors(f"read {path}", hint=REBUILD_HINT):
            actual_size = path.stat().st_size
            is_unchanged = actual_size == size and (not check_checksums or _compute_tail_checksum(path) == checksum)
        if not is_unchanged:
            difference = (
                "its end was overwritten" if actual_size == size else f"it has {actual_size:,} bytes, not {size:,}"
            )
            message = f"The index is damaged: {path} is not as it was committed: {difference}"
            raise StoreError(message, hint=REBUILD_HINT)


def _compute_tail_checksum(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _CHECKSUM_TAIL_BYTES, 0))
        return zlib.crc32(file.read())
