"""Sources of file changes, as `FileWatch` uses them."""

from collections.abc import Callable, Collection
from typing import Final, Protocol

QUIET_S: Final = 0.05
MAX_GATHER_S: Final = 1.0  # maximum gathering time during continuous edits

ChangeCallback = Callable[[Collection[str]], None]
"""Receives absolute paths that may have changed, in order; the root stands for all paths."""


class ChangeSource(Protocol):
    """Reports each change below a folder and in the cookie folder to a callback. Thread-safe."""

    def poll(self, timeout_s: float, *, gather: bool = False) -> None:
        """Report pending changes; if there are none, wait for some.

        Args:
            timeout_s: Maximum wait in seconds.
            gather: Whether to wait for a pause of `QUIET_S`, but no longer than `MAX_GATHER_S`.

        Raises:
            OSError: The system can no longer report all changes: the folder is gone, or a limit is reached.
            KeyboardInterrupt: The user interrupted the wait.
        """
        ...

    def watch_cookies(self) -> None:
        """Watch the cookie folder, which was just created.

        Raises:
            OSError: The folder cannot be watched.
        """
        ...

    def stop(self) -> None:
        """End all waits, in any thread, now and in future."""
        ...

    def close(self) -> None:
        """Release the system's resources; no change is reported afterwards."""
        ...


def is_valid_unicode(path: str) -> bool:
    """Return whether a path is valid Unicode: bytes that are not UTF-8 are lone surrogates, and the scanner skips them."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
