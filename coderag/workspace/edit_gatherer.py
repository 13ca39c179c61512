"""Edits of one repository, gathered until there is a quiet moment: a branch that is switched is one run of indexing."""

import threading
import time
from collections.abc import Callable, Collection
from typing import Final

QUIET_S: Final = 0.5
"""Usual length of a quiet moment."""

LONGEST_S: Final = 5.0
"""How long edits usually wait for one, at most."""


class EditGatherer:
    """Paths that were edited, and the moment to do something about them. Any thread may use it.

    Args:
        act: Called, in a thread of its own, when nothing was edited for a moment.
        quiet_s: How long that is.
        longest_s: After so long it is called anyway, however many edits follow one another.
    """

    def __init__(self, act: Callable[[], None], *, quiet_s: float, longest_s: float) -> None:
        self._act = act
        self._quiet_s = quiet_s
        self._longest_s = longest_s
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._first = self._last = 0.0  # when the edits that are waiting began, and the last of them
        self._not_before = 0.0
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def note(self, paths: Collection[str]) -> None:
        """Add what was edited; nothing of it need be known by name."""
        now = time.monotonic()
        with self._lock:
            self._paths.update(paths)
            self._last = now
            if self._timer is None and not self._is_closed:
                self._first = now
                self._start(max(self._quiet_s, self._not_before - now))

    def hold(self, seconds: float) -> None:
        """Do nothing about edits for some time, as what was done failed."""
        with self._lock:
            self._not_before = time.monotonic() + seconds

    def take(self) -> set[str]:
        """Return the paths that were noted since the last time."""
        with self._lock:
            paths, self._paths = self._paths, set()
        return paths

    def close(self) -> None:
        """Do nothing any more; return when nothing is being done."""
        with self._lock:
            self._is_closed = True
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            if timer is not threading.current_thread():
                timer.join()

    def _start(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.name = "edits"
        self._timer.start()

    def _look(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            due = max(min(self._last + self._quiet_s, self._first + self._longest_s), self._not_before)
            left = due - time.monotonic()
            if left > 0:
                self._start(left)
                return
            self._timer = None
        self._act()
