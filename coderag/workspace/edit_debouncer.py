"""Debouncing of edits: switching a branch causes one indexing run."""

import threading
import time
from collections.abc import Callable, Collection
from typing import Final

DEFAULT_QUIET_S: Final = 0.5
"""Default debounce interval in seconds."""

DEFAULT_MAX_DELAY_S: Final = 5.0
"""Default maximum delay of an edit in seconds."""


class EditDebouncer:
    """Debouncer of edited paths. Thread-safe.

    Args:
        on_quiet: Called in a separate thread after a quiet interval.
        quiet_s: Length of the quiet interval in seconds.
        max_delay_s: Maximum delay in seconds while edits continue.
    """

    def __init__(self, on_quiet: Callable[[], None], *, quiet_s: float, max_delay_s: float) -> None:
        self._on_quiet = on_quiet
        self._quiet_s = quiet_s
        self._max_delay_s = max_delay_s
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._first_edit_at = self._last_edit_at = 0.0  # times of the first and the last pending edit
        self._not_before = 0.0
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def note(self, paths: Collection[str]) -> None:
        """Record an edit; `paths` may be empty if they are unknown."""
        now = time.monotonic()
        with self._lock:
            self._paths.update(paths)
            self._last_edit_at = now
            if self._timer is None and not self._is_closed:
                self._first_edit_at = now
                self._start_timer(max(self._quiet_s, self._not_before - now))

    def hold(self, seconds: float) -> None:
        """Delay the next call, such as after a failure."""
        with self._lock:
            self._not_before = time.monotonic() + seconds

    def take(self) -> set[str]:
        """Return the paths recorded since the last call."""
        with self._lock:
            paths, self._paths = self._paths, set()
        return paths

    def close(self) -> None:
        """Stop; return when no call is running."""
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
