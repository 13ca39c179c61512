"""Files that are written as a whole: who reads one meanwhile gets the old content or the new one. Imports nothing slow."""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PRIVATE_MODE: Final = 0o600
"""Permissions of a file that only this user may read."""


def atomic_write(path: Path, parts: Iterable[bytes], *, permissions: int | None = None, is_durable: bool = True) -> int:
    """Replace a file's content, or make the file.

    Args:
        path: The file, in a folder that is there.
        pieces: The content.
        permissions: Of the file, nobody having more from its first byte on; None for the usual ones.
        is_durable: Whether the content is forced to the disk, which takes some milliseconds, to survive a power cut.

    Returns:
        Number of bytes.

    Raises:
        OSError: It cannot be written; what was there is as it was.
    """
    with _reserve_temporary(path) as temporary:
        size = _write(temporary, parts, permissions, is_durable=is_durable)
        if permissions is not None and permissions != PRIVATE_MODE:
            temporary.chmod(permissions)
        temporary.replace(path)
    return size


def create_private(path: Path, content: bytes) -> None:
    """Make a file that only this user may read, unless there is one: of several at a time, one wins, and it is all's.

    Raises:
        OSError: It cannot be written.
    """
    with _reserve_temporary(path) as temporary:
        _write(temporary, [content], PRIVATE_MODE, is_durable=True)
        try:
            os.link(temporary, path)  # unlike a rename, it never replaces one
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                temporary.replace(path)


@contextmanager
def _reserve_temporary(path: Path) -> Iterator[Path]:
    """Yield a name beside a file that no other thread uses; what has it afterwards is removed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        temporary.unlink(missing_ok=True)  # left by a process that had the same number
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _write(path: Path, parts: Iterable[bytes], permissions: int | None, *, is_durable: bool) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # else Windows writes other line ends
    descriptor = os.open(path, flags, 0o666 if permissions is None else PRIVATE_MODE)
    size = 0
    with os.fdopen(descriptor, "wb") as file:
        for part in parts:
            size += file.write(part)
        file.flush()
        if is_durable:
            os.fsync(file.fileno())
    return size
