"""What changes in a repository, followed in the background; and asked for at any moment without missing an edit.

How to know that all edits so far were told: a small file is made and deleted where changes are told, too. When that one is
told, so were all changes before it. Source: Watchman's "cookies", https://facebook.github.io/watchman/docs/cookies.
"""

import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Set
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.ingestion.live.edits import ROOT
from coderag.ingestion.watching import is_of_interest
from coderag.stores.disk import make_own_directory

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

_QUIET_MS: Final = 50
_LONGEST_MS: Final = 1_000  # however many edits follow one another
_ROUND_MS: Final = 2_000  # how often it is looked whether the folder is still the same
_SETTLE_S: Final = 0.3
_COOKIE_S: Final = 0.05  # then another one is made: the first ones are missed where their folder was just made
_SPIN_MS: Final = 2  # most cookies are told within a fifth of one
_MOST_FAILURES: Final = 3
_LIKELY_OVERFLOW: Final = 8_000
"""Changes at once, from which on some may be lost: Linux queues 16,384 events."""

_logger = logging.getLogger(__name__)


class FileWatch:
    """Follows one repository in a thread, until it is closed. It may be used by several threads.

    Args:
        root: Folder of the repository.
        ignored: Returns what does not matter: paths relative to the root, of folders with a ``/`` at the end.
        on_change: Called with paths that may have changed, from any thread, soon after; `ROOT` stands for all.
        cookies: A folder for small files that are deleted at once; made if the folder it is in is there.
    """

    def __init__(
        self, root: Path, ignored: Callable[[], Set[str]], on_change: Callable[[Collection[str]], None], cookies: Path
    ) -> None:
        self._root = root
        self._ignored = ignored
        self._on_change = on_change
        self._cookies = cookies
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._covered_ns = 0  # when the last cookie was made that was told
        self._waited_for: set[str] = set()
        self._seen: set[str] = set()
        self._changed: set[str] = set()
        self._failures = 0
        self._notify: RustNotify | None = None
        self._begun = threading.Event()
        self._stop = threading.Event()
        self._again = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow edits", daemon=True)
        self._thread.start()

    def settled(self) -> set[str] | None:
        """Return what may have changed since the last call, with all edits that were complete before this one.

        Returns:
            Paths relative to the root, of files and folders; `ROOT` if anything may have changed. None if that cannot be
            told: the system does not tell changes, or not in time, or watching has not begun yet.

        Raises:
            KeyboardInterrupt: The user has interrupted the process meanwhile.
        """
        came_ns = time.monotonic_ns()
        with self._one_at_a_time:
            if self._covered_ns < came_ns and not self._settle():  # else another thread's cookie tells enough
                return None
        with self._lock:
            changed, self._changed = self._changed, set()
        return changed

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def wait_until_begun(self, timeout_s: float) -> bool:
        """Return whether watching has begun, or cannot, within so many seconds."""
        return self._begun.wait(timeout_s)

    # Cookies

    def _settle(self) -> bool:
        """Return whether all that has changed until now was told; begin anew if it is not told in time."""
        notify, made_ns = self._notify, time.monotonic_ns()
        if notify is None or self._failures >= _MOST_FAILURES or not self._cookies.parent.is_dir():
            return False
        if self._await_cookie(notify):
            self._failures, self._covered_ns = 0, made_ns
            return True
        self._failures += 1
        if self._failures == _MOST_FAILURES:
            _logger.warning("Changes in %s are not told in time: what was edited is looked for instead", self._root)
        else:
            self._again.set()
        return False

    def _await_cookie(self, notify: "RustNotify") -> bool:
        """Return whether a change that is made now is told in time."""
        deadline = time.monotonic() + _SETTLE_S
        mine: set[str] = set()
        try:
            while time.monotonic() < deadline:
                self._make_cookie(mine)
                until = min(deadline, time.monotonic() + _COOKIE_S)
                wait_ms = _SPIN_MS
                while True:
                    self._take(notify, step_ms=0 if wait_ms == _SPIN_MS else 1, timeout_ms=wait_ms)
                    if mine & self._seen:
                        return True
                    if time.monotonic() >= until:
                        break
                    wait_ms = _SPIN_MS + 8
        except OSError:  # no cookie can be made
            return False
        finally:
            with self._lock:
                self._waited_for -= mine
                self._seen -= mine
        return False

    def _make_cookie(self, mine: set[str]) -> None:
        name = f"cookie-{os.getpid()}-{id(self):x}-{next(self._numbers)}"
        with self._lock:
            self._waited_for.add(name)
        mine.add(name)
        path = self._cookies / name
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileNotFoundError:
            make_own_directory(self._cookies.parent)
            self._cookies.mkdir(exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
        with suppress(OSError):  # Windows, while a scanner has it open; it lies in a folder of ours
            path.unlink()

    # Changes

    def _take(self, notify: "RustNotify", *, step_ms: int, timeout_ms: int, quiet: bool = True) -> None:
        """Wait for changes, and note them."""
        from watchfiles._rust_notify import WatchfilesRustInternalError  # noqa: PLC0415  # only who watches needs it

        try:
            found = notify.watch(0 if quiet else _LONGEST_MS, step_ms, timeout_ms, self._stop)
        except (WatchfilesRustInternalError, RuntimeError) as error:  # such as a name that is no text; or it was closed
            _logger.debug("watching %s: %s", self._root, error)
            self._note({ROOT})
            return
        if found == "signal":
            raise KeyboardInterrupt
        if isinstance(found, set):
            self._sort([path for _, path in found])

    def _sort(self, paths: Collection[str]) -> None:
        """Tell cookies from changes, and note both."""
        cookies = f"{self._cookies}{os.sep}"
        names = {path.removeprefix(cookies) for path in paths if path.startswith(cookies)}
        ignored = self._ignored()
        changed = {_relative(self._root, path) for path in paths if is_of_interest(self._root, path, ignored)}
        if len(paths) >= _LIKELY_OVERFLOW:
            changed.add(ROOT)
        self._note(changed)
        with self._lock:  # not before: who sees its cookie has all changes
            self._seen |= names & self._waited_for

    def _note(self, changed: set[str]) -> None:
        if changed:
            with self._lock:
                self._changed |= changed
            self._on_change(changed)

    # The thread

    def _run(self) -> None:
        while not self._stop.is_set():
            self._again.clear()
            notify = self._begin()
            self._begun.set()
            if notify is None:
                if self._stop.wait(_ROUND_MS / 1_000) or self._root.is_dir():
                    return  # it is there and cannot be watched
                continue
            with notify:
                self._notify = notify
                self._note({ROOT})  # before watching began, anything may have changed
                self._follow(notify)
                self._notify = None

    def _begin(self) -> "RustNotify | None":
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415  # only who watches needs it

        places = [str(self._root)]
        if not self._cookies.is_relative_to(self._root) and self._cookies.parent.is_dir():
            with suppress(OSError):
                self._cookies.mkdir(exist_ok=True)
                places.append(str(self._cookies))
        try:
            return RustNotify(places, False, False, 300, True, True)  # no debugging, no polling
        except OSError as error:
            _logger.warning("%s cannot be watched (%s): what was edited is looked for instead", self._root, error)
            return None

    def _follow(self, notify: "RustNotify") -> None:
        """Note changes until told to stop, or until it has to begin anew."""
        identity = _identity(self._root)
        while not (self._stop.is_set() or self._again.is_set()):
            self._take(notify, step_ms=_QUIET_MS, timeout_ms=_ROUND_MS, quiet=False)
            if _identity(self._root) != identity:
                self._note({ROOT})
                return


def _relative(root: Path, path: str) -> str:
    """Return a path as the index has it; `ROOT` if it is the repository, or not in it."""
    try:
        relative = Path(path).relative_to(root).as_posix()
    except ValueError:
        return ROOT
    return ROOT if relative == "." else relative


def _identity(root: Path) -> tuple[int, int]:
    """Return what tells a folder from another one that is put in its place."""
    try:
        status = root.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
