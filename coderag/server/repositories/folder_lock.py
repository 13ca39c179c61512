"""Lock of a repository's folder: one process at a time, and no git command that another one left behind."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from coderag.errors import GitUnavailableError

_OWNER_NAME: Final = "lock"
_COMMANDS_NAME: Final = "git.lock"


class FolderBusyError(GitUnavailableError):
    """Another worker, or a git command that it left behind, still uses the folder."""


@contextmanager
def hold_folder(folder: Path) -> Iterator[tuple[int, ...]]:
    """Hold the lock of a folder; yield descriptors that git commands have to inherit.

    Raises:
        FolderBusyError: The lock is held.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / _OWNER_NAME, timeout=0), _hold_commands(folder / _COMMANDS_NAME) as descriptors:
            yield descriptors
    except Timeout as error:
        raise FolderBusyError("another worker is using the repository") from error


@contextmanager
def _hold_commands(path: Path) -> Iterator[tuple[int, ...]]:
    if sys.platform == "win32":  # commands inherit no locks there
        yield ()
        return
    import fcntl  # noqa: PLC0415  # not on Windows

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FolderBusyError("a git command of a worker that died is still running") from error
        yield (descriptor,)
    finally:
        os.close(descriptor)
