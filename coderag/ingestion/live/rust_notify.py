"""What changes in a repository, as watchfiles tells it: everywhere, but now and then it loses a change.

`RustNotify.watch` copies its set of changes and clears it in two steps, and clears it when its time is over: what is told in
between is forgotten. On Linux `inotify` is there instead.
"""

import logging
import threading
from pathlib import Path
from typing import Final

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from coderag.ingestion.live.change_source import LONGEST_S, QUIET_S, Note

_SPIN_S: Final = 0.002  # most cookies are told within a fifth of it
_LIKELY_OVERFLOW: Final = 8_000
"""Changes at once, from which on some may be lost."""

_logger = logging.getLogger(__name__)


class RustNotifySource:
    """A `ChangeSource` that stands on watchfiles.

    Args:
        root: Folder of the repository.
        cookies: The folder for cookies.
        note: Given the changes.

    Raises:
        OSError: The system cannot watch the folder.
    """

    def __init__(self, root: Path, cookies: Path, note: Note) -> None:
        self._root = root
        self._note = note
        self._stop = threading.Event()
        places = [str(root)]
        if not cookies.is_relative_to(root) and cookies.is_dir():
            places.append(str(cookies))
        self._notify = RustNotify(places, False, False, 300, True, True)  # no debugging, no polling

    def take(self, timeout_s: float, *, gather: bool = False) -> None:
        """See `ChangeSource`."""
        step_s = QUIET_S if gather else 0 if timeout_s <= _SPIN_S else 0.001
        timeout_ms = round(max(timeout_s, _SPIN_S) * 1_000)  # 0 would be for ever
        try:
            found = self._notify.watch(
                round(LONGEST_S * 1_000) if gather else 0, round(step_s * 1_000), timeout_ms, self._stop
            )
        except (WatchfilesRustInternalError, RuntimeError) as error:  # such as a name that is no text; or it was closed
            _logger.debug("watching %s: %s", self._root, error)
            self._note([str(self._root)])
            return
        if found == "signal":
            raise KeyboardInterrupt
        if isinstance(found, set):
            paths = [path for _, path in found]
            self._note([*paths, str(self._root)] if len(paths) >= _LIKELY_OVERFLOW else paths)

    def watch_cookies(self) -> None:
        """See `ChangeSource`: what is below the root is watched; else it is only from the next beginning on."""

    def stop(self) -> None:
        """See `ChangeSource`."""
        self._stop.set()

    def close(self) -> None:
        """See `ChangeSource`."""
        self._notify.close()
