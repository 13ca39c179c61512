"""Safe reading of regular files: without following links, without blocking on pipes, and up to a limit."""

import errno
import os
import stat
from pathlib import Path

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)  # Windows: no newline translation
    | getattr(os, "O_NONBLOCK", 0)  # otherwise opening a pipe waits for a writer
)
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)


def read_regular_file(path: Path, limit: int, *, follow: bool = False) -> tuple[bytes, os.stat_result]:
    """Read at most ``limit`` + 1 bytes of a regular file, and its status before reading.

    Raises:
        OSError: The file cannot be read, is not a regular file, or is a symbolic link and ``follow`` is False.
    """
    if not follow and not _NO_FOLLOW and path.is_symlink():  # Windows
        raise OSError(errno.ELOOP, "is a symbolic link", str(path))
    descriptor = os.open(path, _OPEN_FLAGS if follow else _OPEN_FLAGS | _NO_FOLLOW)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(min(status.st_size, limit) + 1)
        if status.st_size < len(data) <= limit:  # it has grown meanwhile
            data += file.read(limit + 1 - len(data))
    return data, status


def describe_os_error(error: OSError) -> str:
    """Describe an operating system error without its path: ``permission denied``."""
    return (error.strerror or str(error) or type(error).__name__).lower()
