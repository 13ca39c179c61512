"""What changes in a repository, followed in the background; and asked for at any moment without missing an edit.

How to know that all edits so far were told: a small file is made and deleted where changes are told, too. When that one is
told, so were all changes before it. Source: Watchman's "cookies", https://facebook.github.io/watchman/docs/cookies.
"""

import errno
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Set
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from coderag.ingestion.live.change_source import ChangeCallback, ChangeSource, is_valid_unicode
from coderag.ingestion.live.edits import ROOT
from coderag.ingestion.watching import is_watched_path
from coderag.stores.disk import create_index_directory

_ROOT_CHECK_MS: Final = 2_000  # how often it is looked whether the folder is still the same
_SETTLE_TIMEOUT_S: Final = 0.3
_COOKIE_TIMEOUT_S: Final = 0.05  # then another one is made: the first ones are missed where their folder was just made
_POLL_WAITS_S: Final = (0.0, 0.002, 0.01)  # Linux tells a cookie at once, others most of them within half a millisecond
_MAX_FAILURES: Final = 3
_LIMIT_HINTS: Final = {
    errno.ENOSPC: "; raise fs.inotify.max_user_watches",
    errno.EMFILE: "; raise fs.inotify.max_user_instances",
}

OnChange = Callable[[Collection[str]], None]

_logger = logging.getLogger(__name__)


class FileWatch:
    """Follows one repository in a thread, until it is closed. It may be used by several threads.

    Args:
        root: Folder of the repository.
        ignored: Returns what does not matter: paths relative to the root, of folders with a ``/`` at the end.
        on_change: Called with paths that may have changed, from any thread, before `settled` returns to any; `ROOT` stands
            for all. It is called under a lock: it must be quick, and not ask back.
        cookies: A folder for small files that are deleted at once; made if the folder it is in is there.
        then: Called with the same paths soon after, and free to do anything.
    """

    def __init__(
        self,
        root: Path,
        ignored: Callable[[], Set[str]],
        on_change: OnChange,
        cookies: Path,
        after_change: OnChange | None = None,
    ) -> None:
        self._root = root
        self._ignored = ignored
        self._on_change = on_change
        self._after_change = after_change
        self._cookies = cookies
        self._cookie_numbers = itertools.count()
        self._lock = threading.Lock()
        self._settle_lock = threading.Lock()
        self._settled_ns = 0  # when the last cookie was made that was told
        self._pending_cookies: set[str] = set()
        self._seen_cookies: set[str] = set()
        self._changed: set[str] = set()
        self._unreported: set[str] = set()
        self._failures = 0
        self._source: ChangeSource | None = None
        self._started = threading.Event()
        self._stop = threading.Event()
        self._restart = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow edits", daemon=True)
        self._thread.start()

    def take_changes(self) -> set[str] | None:
        """Return what may have changed since the last call, with all edits that were complete before this one.

        Returns:
            Paths relative to the root, of files and folders; `ROOT` if anything may have changed. None if that cannot be
            told: the system does not tell changes, or not in time, or watching has not begun yet.

        Raises:
            KeyboardInterrupt: The user has interrupted the process meanwhile.
        """
        requested_ns = time.monotonic_ns()
        with self._settle_lock:  # another thread's cookie may tell enough
            is_settled = self._settled_ns >= requested_ns or self._await_settled()
            with self._lock:
                changed = self._changed if is_settled else None
                if is_settled:
                    self._changed = set()
        self._notify()
        return changed

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        source = self._source
        if source is not None:
            source.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def wait_until_started(self, timeout_s: float) -> bool:
        """Return whether watching has begun, or cannot, within so many seconds."""
        return self._started.wait(timeout_s)

    # Cookies

    def _await_settled(self) -> bool:
        """Return whether all that has changed until now was told; begin anew if it is not told in time."""
        source, started_ns = self._source, time.monotonic_ns()
        if source is None or self._failures >= _MAX_FAILURES or not self._cookies.parent.is_dir():
            return False
        if self._await_cookie(source):
            self._failures, self._settled_ns = 0, started_ns
            return True
        self._failures += 1
        if self._failures == _MAX_FAILURES:
            _logger.warning("Changes in %s are not told in time: what was edited is looked for instead", self._root)
        else:
            self._restart.set()
            source.stop()
        return False

    def _await_cookie(self, source: ChangeSource) -> bool:
        """Return whether a change that is made now is told in time."""
        deadline = time.monotonic() + _SETTLE_TIMEOUT_S
        own_cookies: set[str] = set()
        try:
            while time.monotonic() < deadline and source is self._source:
                self._create_cookie(source, own_cookies)
                cookie_deadline = min(deadline, time.monotonic() + _COOKIE_TIMEOUT_S)
                for wait_s in itertools.chain(_POLL_WAITS_S, itertools.repeat(_POLL_WAITS_S[-1])):
                    source.poll(wait_s)
                    if own_cookies & self._seen_cookies:
                        return True
                    if time.monotonic() >= cookie_deadline:
                        break
        except OSError:  # no cookie can be made, or the system cannot watch any more
            return False
        finally:
            with self._lock:
                self._pending_cookies -= own_cookies
                self._seen_cookies -= own_cookies
        return False

    def _create_cookie(self, source: ChangeSource, own_cookies: set[str]) -> None:
        name = f"cookie-{os.getpid()}-{id(self):x}-{next(self._cookie_numbers)}"
        with self._lock:
            self._pending_cookies.add(name)
        own_cookies.add(name)
        path = self._cookies / name
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileNotFoundError:
            create_index_directory(self._cookies.parent)
            self._cookies.mkdir(exist_ok=True)
            source.watch_cookies()
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
        with suppress(OSError):  # Windows, while a scanner has it open; it lies in a folder of ours
            path.unlink()

    # Changes

    def _sift_paths(self, paths: Collection[str]) -> None:
        """Tell cookies from changes, and note both."""
        cookies = f"{self._cookies}{os.sep}"
        names = {path.removeprefix(cookies) for path in paths if path.startswith(cookies)}
        ignored = self._ignored()
        self._record_changes(
            {_to_relative(self._root, path) for path in paths if is_watched_path(self._root, path, ignored)}
        )
        with self._lock:  # not before: who sees its cookie has all changes
            self._seen_cookies |= names & self._pending_cookies

    def _record_changes(self, changed: set[str]) -> None:
        if changed:
            with self._lock:
                self._changed |= changed
                self._unreported |= changed
            self._on_change(changed)

    def _notify(self) -> None:
        with self._lock:
            unreported, self._unreported = self._unreported, set()
        if unreported and self._after_change is not None:
            self._after_change(unreported)

    # The thread

    def _run(self) -> None:
        while not self._stop.is_set():
            self._restart.clear()
            source = self._open_source()
            if source is None:
                self._started.set()
                if self._stop.wait(_ROOT_CHECK_MS / 1_000) or self._root.is_dir():
                    return  # it is there and cannot be watched
                continue
            with closing(source):
                self._record_changes({ROOT})  # before watching began, anything may have changed
                self._source = source
                self._started.set()
                try:
                    self._follow(source)
                finally:
                    self._source = None

    def _open_source(self) -> ChangeSource | None:
        if self._cookies.parent.is_dir():
            with suppress(OSError):
                self._cookies.mkdir(exist_ok=True)
        try:
            return _open_change_source(self._root, self._cookies, self._ignored, self._sift_paths)
        except OSError as error:
            _logger.warning(
                "%s cannot be watched (%s): what was edited is looked for instead%s",
                self._root,
                error,
                _LIMIT_HINTS.get(error.errno or 0, ""),
            )
            return None

    def _follow(self, source: ChangeSource) -> None:
        """Note changes until told to stop, or until it has to begin anew."""
        identity = _read_identity(self._root)
        while not (self._stop.is_set() or self._restart.is_set()):
            self._notify()
            try:
                source.poll(_ROOT_CHECK_MS / 1_000, gather=True)
            except OSError as error:
                _logger.debug("watching %s: %s", self._root, error)
                return
            if _read_identity(self._root) != identity:
                self._record_changes({ROOT})
                return


def _open_change_source(
    root: Path, cookies: Path, ignored: Callable[[], Set[str]], on_change: ChangeCallback
) -> ChangeSource:
    """Return what tells the changes on this system.

    Raises:
        OSError: The system cannot watch the folder.
    """
    if sys.platform == "linux":
        from coderag.ingestion.live import inotify  # noqa: PLC0415  # other systems lack what it imports

        if inotify.is_available():
            return inotify.InotifySource(root, cookies, ignored, on_change)
    from coderag.ingestion.live.rust_notify import RustNotifySource  # noqa: PLC0415  # only who needs it

    return RustNotifySource(root, cookies, on_change)


def _to_relative(root: Path, path: str) -> str:
    """Return a path as the index has it; `ROOT` if it is the repository, not in it, or no text."""
    try:
        relative = Path(path).relative_to(root).as_posix()
    except ValueError:
        return ROOT
    return relative if relative != "." and is_valid_unicode(relative) else ROOT


def _read_identity(root: Path) -> tuple[int, int]:
    """Return what tells a folder from another one that is put in its place."""
    try:
        status = root.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
