"""Fingerprints of a generation's files, to detect missing, truncated and overwritten ones.

A fingerprint is the size and a checksum of the file's tail. Lance stores its offsets there and trusts them: a wrong
one makes it allocate memory until the process aborts. Hashing whole files would take as long as reading the index.
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
    """Return each file's size in bytes and tail checksum, by path relative to the format's directory.

    Args:
        index_directory: The index's directory.
        paths: The files.
        previous: Fingerprints of the last commit; they are reused, as files are never rewritten.
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
    """Reject a generation whose files differ from those that were committed.

    A generation without fingerprints, from an earlier version, passes.

    Args:
        index_directory: The index's directory.
        pointer: The generation.
        subdirectory: Directory below the format's; by default all files are checked.
        check_checksums: Whether to check tail checksums as well as sizes.

    Raises:
        StoreError: A file is missing, differs from what was committed, or cannot be read.
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
