"""Lock of a mirror's writer, across processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coderag.errors import IndexLockedError
from coderag.stores.disk import create_index_directory, map_storage_errors

_LOCK_FILE = "sync.lock"
_TIMEOUT_S = 0.5  # a look at the state of the lock holds it for a moment


@contextmanager
def lock_mirror(folder: Path) -> Iterator[None]:
    """Hold the lock of a mirror.

    Args:
        folder: Folder of the mirror; created if it is missing.

    Raises:
        IndexLockedError: Another process, or another thread, holds it.
        StoreError: The folder cannot be written.
    """
    import filelock  # noqa: PLC0415  # 0.07 s

    with map_storage_errors(f"lock {folder}"):
        create_index_directory(folder)
    lock = filelock.FileLock(folder / _LOCK_FILE, timeout=_TIMEOUT_S, thread_local=False, is_singleton=False)
    try:
        with map_storage_errors(f"lock {folder}"):
            try:
                lock.acquire()
            except filelock.Timeout as error:
                message = f"The sources in {folder} are being synchronised by another process"
                raise IndexLockedError(message, hint="Wait until it is done; searching works meanwhile.") from error
        yield
    finally:
        lock.release()


def is_mirror_locked(folder: Path) -> bool:
    """Return whether a synchronisation is running."""
    import filelock  # noqa: PLC0415  # as above

    if not (folder / _LOCK_FILE).exists():
        return False
    try:
        with filelock.FileLock(folder / _LOCK_FILE, timeout=0, thread_local=False, is_singleton=False):
            return False
    except filelock.Timeout:
        return True
    except OSError:  # a folder that cannot be written has no writer of this user
        return False
