"""Change source on watchfiles: available everywhere, but it occasionally loses a change.

`RustNotify.watch` copies and clears its set of changes in two steps, and clears it at a timeout: changes in between are
lost. On Linux `inotify` is used instead.
"""

import logging
import threading
from pathlib import Path
from typing import Final

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from coderag.ingestion.live.change_source import MAX_GATHER_S, QUIET_S, ChangeCallback

_MIN_POLL_S: Final = 0.002  # most cookies are reported within a fifth of it
_OVERFLOW_CHANGES: Final = 8_000
"""Number of changes in one report from which on some may be lost."""

_logger = logging.getLogger(__name__)


class RustNotifySource:
    """A `ChangeSource` on watchfiles.

    Args:
        root: Folder of the repository.
        cookies: The cookie folder.
        on_change: Receives the changes.

    Raises:
        OSError: The system cannot watch the folder.
    """

    def __init__(self, root: Path, cookies: Path, on_change: ChangeCallback) -> None:
        self._root = root
        self._on_change = on_change
        self._stop = threading.Event()
        watched_folders = [str(root)]
        if not cookies.is_relative_to(root) and cookies.is_dir():
            watched_folders.append(str(cookies))
        self._notify = RustNotify(watched_folders, False, False, 300, True, True)  # no debugging, no polling

    def poll(self, timeout_s: float, *, gather: bool = False) -> None:
        """See `ChangeSource`."""
        step_s = QUIET_S if gather else 0 if timeout_s <= _MIN_POLL_S else 0.001
        timeout_ms = round(max(timeout_s, _MIN_POLL_S) * 1_000)  # 0 would be for ever
        try:
            changes = self._notify.watch(
                round(MAX_GATHER_S * 1_000) if gather else 0, round(step_s * 1_000), timeout_ms, self._stop
            )
        except (WatchfilesRustInternalError, RuntimeError) as error:  # an invalid name, or the watch was closed
            _logger.debug("watching %s: %s", self._root, error)
            self._on_change([str(self._root)])
            return
        if changes == "signal":
            raise KeyboardInterrupt
        if isinstance(changes, set):
            paths = [path for _, path in changes]
            self._on_change([*paths, str(self._root)] if len(paths) >= _OVERFLOW_CHANGES else paths)

    def watch_cookies(self) -> None:
        """See `ChangeSource`. A folder below the root is watched; another one only after a restart."""

    def stop(self) -> None:
        """See `ChangeSource`."""
        self._stop.set()

    def close(self) -> None:
        """See `ChangeSource`."""
        self._notify.close()
