"""Atomic file writes: readers see the old or the new content. Imports nothing slow."""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PRIVATE_MODE: Final = 0o600
"""Permissions of a file that only this user can read."""


def atomic_write(path: Path, parts: Iterable[bytes], *, permissions: int | None = None, is_durable: bool = True) -> int:
    """Replace or create a file atomically.

    Args:
        path: The file, in an existing folder.
        parts: Parts of the content.
        permissions: Permissions of the file, never wider during the write; None for the default.
        is_durable: Whether to fsync, which takes some milliseconds, to survive a power failure.

    Returns:
        Number of bytes.

    Raises:
        OSError: It cannot be written; the old content is intact.
    """
    with _reserve_temporary(path) as temporary:
        size = _write(temporary, parts, permissions, is_durable=is_durable)
        if permissions is not None and permissions != PRIVATE_MODE:
            temporary.chmod(permissions)
        temporary.replace(path)
    return size


def create_private(path: Path, content: bytes) -> None:
    """Create a file that only this user can read, unless it exists. Of concurrent callers one wins.

    Raises:
        OSError: It cannot be written.
    """
    with _reserve_temporary(path) as temporary:
        _write(temporary, [content], PRIVATE_MODE, is_durable=True)
        try:
            os.link(temporary, path)  # unlike a rename, a link never replaces a file
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not path.exists():
                temporary.replace(path)


@contextmanager
def _reserve_temporary(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to a file, unique to this thread; remove it afterwards."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        temporary.unlink(missing_ok=True)  # left by a process with the same id
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _write(path: Path, parts: Iterable[bytes], permissions: int | None, *, is_durable: bool) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # otherwise Windows converts line ends
    descriptor = os.open(path, flags, 0o666 if permissions is None else PRIVATE_MODE)
    size = 0
    with os.fdopen(descriptor, "wb") as file:
        for part in parts:
            size += file.write(part)
        file.flush()
        if is_durable:
            os.fsync(file.fileno())
    return size
