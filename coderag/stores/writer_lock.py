"""Lock of an index's writer, with a record of its holder."""

import json
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.errors import IndexLockedError, StoreError
from coderag.stores.disk import map_storage_errors
from coderag.stores.pointer import FORMAT_DIRECTORY, POINTER_FILE, format_utc_now

if TYPE_CHECKING:
    import filelock

_BRIEF_TIMEOUT_S: Final = 30.0  # wait for a brief writer
_LOCK_FILE, _HOLDER_FILE = "writer.lock", "writer.json"


class WriterLock:
    """Lock held by one writer at a time, across processes.

    Args:
        directory: The index's directory.
        timeout_s: Seconds to wait for it; negative waits forever.
        is_brief: Whether it is held only briefly; others then wait for it, whatever their `timeout_s`.
    """

    def __init__(self, directory: Path, *, timeout_s: float, is_brief: bool) -> None:
        self._directory = directory
        self._folder = directory / FORMAT_DIRECTORY
        self._holder_path = self._folder / _HOLDER_FILE
        self._timeout_s = timeout_s
        self._is_brief = is_brief
        self._lock: filelock.BaseFileLock | None = None

    @property
    def is_held(self) -> bool:
        """True if this object holds the lock."""
        return self._lock is not None

    def acquire(self) -> None:
        """Acquire the lock.

        Raises:
            IndexLockedError: Another writer holds it beyond the timeout.
            StoreError: The folder is not writable.
        """
        import filelock  # noqa: PLC0415 - 0.07 s

        is_brief = 0 <= self._timeout_s < _BRIEF_TIMEOUT_S and _is_held_briefly(self._holder_path)
        timeout_s = _BRIEF_TIMEOUT_S if is_brief else self._timeout_s
        # A new object for each writer makes a second writer in the same thread wait as well.
        lock = filelock.FileLock(self._folder / _LOCK_FILE, timeout=timeout_s, thread_local=False, is_singleton=False)
        try:
            with map_storage_errors(f"lock {self._folder}"):
                lock.acquire()
        except StoreError as error:
            if isinstance(error.__cause__, filelock.Timeout):
                message = f"The index in {self._directory} is being written{_format_holder(self._holder_path)}"
                search_hint = "; searching works meanwhile" if (self._folder / POINTER_FILE).exists() else ""
                raise IndexLockedError(message, hint=f"Wait until it is done{search_hint}.") from error
            raise
        self._lock = lock
        holder = {"pid": os.getpid(), "host": platform.node(), "since": format_utc_now(), "is_brief": self._is_brief}
        with suppress(OSError):  # informational only
            self._holder_path.write_text(json.dumps(holder))

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._lock is not None:
            with suppress(OSError):
                self._holder_path.unlink(missing_ok=True)
            self._lock.release()
            self._lock = None


def _is_held_briefly(path: Path) -> bool:
    """Return whether the current holder is brief."""
    try:
        return bool(json.loads(path.read_bytes()).get("is_brief"))
    except (OSError, ValueError, AttributeError):
        return False


def _format_holder(path: Path) -> str:
    """Format the holder of the lock as the end of a sentence; empty if unknown."""
    try:
        holder = json.loads(path.read_bytes())
        return f" by process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
