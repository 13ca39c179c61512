"""Edits of one repository, gathered until there is a quiet moment: a branch that is switched is one run of indexing."""

import threading
import time
from collections.abc import Callable, Collection
from typing import Final

DEFAULT_QUIET_S: Final = 0.5
"""Usual length of a quiet moment."""

DEFAULT_MAX_DELAY_S: Final = 5.0
"""How long edits usually wait for one, at most."""


class EditDebouncer:
    """Paths that were edited, and the moment to do something about them. Any thread may use it.

    Args:
        act: Called, in a thread of its own, when nothing was edited for a moment.
        quiet_s: How long that is.
        longest_s: After so long it is called anyway, however many edits follow one another.
    """

    def __init__(self, on_quiet: Callable[[], None], *, quiet_s: float, max_delay_s: float) -> None:
        self._on_quiet = on_quiet
        self._quiet_s = quiet_s
        self._max_delay_s = max_delay_s
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._first_edit_at = self._last_edit_at = 0.0  # when the edits that are waiting began, and the last of them
        self._not_before = 0.0
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def note(self, paths: Collection[str]) -> None:
        """Add what was edited; nothing of it need be known by name."""
        now = time.monotonic()
        with self._lock:
            self._paths.update(paths)
            self._last_edit_at = now
            if self._timer is None and not self._is_closed:
                self._first_edit_at = now
                self._start_timer(max(self._quiet_s, self._not_before - now))

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

    def _start_timer(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._check_quiet)
        self._timer.daemon = True
        self._timer.name = "edits"
        self._timer.start()

    def _check_quiet(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            due = max(
                min(self._last_edit_at + self._quiet_s, self._first_edit_at + self._max_delay_s), self._not_before
            )
            remaining_s = due - time.monotonic()
            if remaining_s > 0:
                self._start_timer(remaining_s)
                return
            self._timer = None
        self._on_quiet()
