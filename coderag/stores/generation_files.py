"""Fingerprints of a generation's files, to detect missing, truncated and overwritten ones.

A fingerprint is the size, a checksum of the file's tail, and one of all its content. Lance stores its offsets in the tail and
trusts them: a wrong one makes it allocate memory until the process aborts, so the tail is checked before a table is opened.
Checking all content takes a second for a gigabyte; `ContentCheck` does it while the first query runs.
"""

import os
import threading
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

from coderag.errors import StoreError
from coderag.stores.disk import map_storage_errors
from coderag.stores.pointer import FORMAT_DIRECTORY, REBUILD_HINT, Pointer

_CHECKSUM_TAIL_BYTES: Final = 1 << 16
_BLOCK_BYTES: Final = 1 << 20

FileFingerprints = Mapping[str, tuple[int, ...]]
CheckDepth = Literal["size", "tail", "content"]
"""Extent of a check: sizes only; also the tails; also all content."""


def fingerprint_files(
    index_directory: Path, paths: Iterable[Path], previous: FileFingerprints
) -> dict[str, tuple[int, ...]]:
    """Return each file's size in bytes, tail checksum and content checksum, by path relative to the format's directory.

    Args:
        index_directory: The index's directory.
        paths: The files.
        previous: Fingerprints of the last commit; they are reused, as files are never rewritten.
    """
    root = index_directory / FORMAT_DIRECTORY
    with map_storage_errors(f"read {root}"):
        paths_by_name = {str(path)[len(str(root)) + 1 :].replace(os.sep, "/"): path for path in paths}
        return {
            name: previous[name] if len(previous.get(name, ())) > 2 else _fingerprint(path)
            for name, path in paths_by_name.items()
        }


def check_files(index_directory: Path, pointer: Pointer, *, subdirectory: str = "", depth: CheckDepth = "size") -> None:
    """Reject a generation whose files differ from those that were committed.

    A generation without fingerprints, from an earlier version, passes.

    Args:
        index_directory: The index's directory.
        pointer: The generation.
        subdirectory: Directory below the format's; by default all files are checked.
        depth: Extent of the check.

    Raises:
        StoreError: A file is missing, differs from what was committed, or cannot be read.
    """
    root = index_directory / FORMAT_DIRECTORY
    for name, (size, *checksums) in pointer.contents.items():
        if subdirectory and not name.startswith(f"{subdirectory}/"):
            continue
        path = root / name
        with map_storage_errors(f"read {path}", hint=REBUILD_HINT):
            actual_size = path.stat().st_size
            is_unchanged = actual_size == size and _has_checksums(path, checksums, depth)
        if not is_unchanged:
            difference = "it was overwritten" if actual_size == size else f"it has {actual_size:,} bytes, not {size:,}"
            message = f"The index is damaged: {path} is not as it was committed: {difference}"
            raise StoreError(message, hint=REBUILD_HINT)


class ContentCheck:
    """Check of all content of a generation, in the background.

    Args:
        index_directory: The index's directory.
        pointer: The generation.
    """

    def __init__(self, index_directory: Path, pointer: Pointer) -> None:
        self._index_directory = index_directory
        self._pointer = pointer
        self._damage: StoreError | None = None
        self._thread = threading.Thread(target=self._run, name="check index", daemon=True)
        self._thread.start()

    def raise_damage(self, timeout_s: float) -> None:
        """Raise the error of a damaged file; wait for the end of the check up to a number of seconds.

        Raises:
            StoreError: A file is damaged.
        """
        self._thread.join(timeout_s)
        if self._damage is not None:
            raise self._damage

    def _run(self) -> None:
        try:
            check_files(self._index_directory, self._pointer, depth="content")
        except StoreError as error:
            if not isinstance(
                error.__cause__, FileNotFoundError
            ):  # deleted after a commit: its reader reopens the index
                self._damage = error


def _fingerprint(path: Path) -> tuple[int, int, int]:
    return path.stat().st_size, _compute_tail_checksum(path), _compute_content_checksum(path)


def _has_checksums(path: Path, checksums: list[int], depth: CheckDepth) -> bool:
    """Return whether a file has the recorded checksums; one that was not recorded is not checked."""
    if depth == "content" and len(checksums) > 1:
        return _compute_content_checksum(path) == checksums[1]
    return depth == "size" or _compute_tail_checksum(path) == checksums[0]


def _compute_content_checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _compute_tail_checksum(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _CHECKSUM_TAIL_BYTES, 0))
        return zlib.crc32(file.read())
