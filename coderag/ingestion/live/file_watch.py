"""Background file watch that can be queried at any time without missing an edit.

To learn that all earlier edits have been reported, a small file is created and deleted in a watched folder. Changes are
reported in order, so its report follows all earlier ones. Source: Watchman's "cookies",
https://facebook.github.io/watchman/docs/cookies.
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

_ROOT_CHECK_MS: Final = 2_000  # interval between checks that the folder is still the same
_SETTLE_TIMEOUT_S: Final = 0.3
_COOKIE_TIMEOUT_S: Final = 0.05  # then another cookie is created: a new cookie folder misses the first ones
_POLL_WAITS_S: Final = (0.0, 0.002, 0.01)  # Linux reports a cookie at once, others mostly within 0.5 ms
_MAX_FAILURES: Final = 3
_LIMIT_HINTS: Final = {
    errno.ENOSPC: "; raise fs.inotify.max_user_watches",
    errno.EMFILE: "; raise fs.inotify.max_user_instances",
}

OnChange = Callable[[Collection[str]], None]

_logger = logging.getLogger(__name__)


class FileWatch:
    """Watches one repository in a thread, until it is closed. Thread-safe.

    Args:
        root: Folder of the repository.
        ignored: Returns the ignored paths, relative to the root; folders end in ``/``.
        on_change: Called with paths that may have changed, from any thread, before `take_changes` returns; `ROOT` stands
            for all. It runs under a lock, so it must be quick and must not call back.
        cookies: Folder for cookie files; created if its parent exists.
        after_change: Called with the same paths soon after, without a lock.
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
        self._settled_ns = 0  # creation time of the last reported cookie
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
        """Return the paths that may have changed since the last call, including all edits completed before this one.

        Returns:
            Paths of files and folders relative to the root; `ROOT` if anything may have changed. None if unknown: the
            system reports no changes, or not in time, or watching has not started.

        Raises:
            KeyboardInterrupt: The user interrupted the wait.
        """
        requested_ns = time.monotonic_ns()
        with self._settle_lock:  # another thread's cookie may suffice
            is_settled = self._settled_ns >= requested_ns or self._await_settled()
            with self._lock:
                changed = self._changed if is_settled else None
                if is_settled:
                    self._changed = set()
        self._notify()
        return changed

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()
        source = self._source
        if source is not None:
            source.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def wait_until_started(self, timeout_s: float) -> bool:
        """Wait up to a number of seconds until watching has started or failed; return whether it has."""
        return self._started.wait(timeout_s)

    # Cookies

    def _await_settled(self) -> bool:
        """Return whether all changes so far have been reported; restart the source if they are late."""
        source, started_ns = self._source, time.monotonic_ns()
        if source is None or self._failures >= _MAX_FAILURES or not self._cookies.parent.is_dir():
            return False
        if self._await_cookie(source):
            self._failures, self._settled_ns = 0, started_ns
            return True
        self._failures += 1
        if self._failures == _MAX_FAILURES:
            _logger.warning("Changes in %s are not reported in time: CodeRAG scans for edits instead", self._root)
        else:
            self._restart.set()
            source.stop()
        return False

    def _await_cookie(self, source: ChangeSource) -> bool:
        """Return whether a change made now is reported in time."""
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
        except OSError:  # no cookie can be created, or the watch has failed
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
        with suppress(OSError):  # on Windows a scanner may hold it open; the folder is CodeRAG's own
            path.unlink()

    # Changes

    def _sift_paths(self, paths: Collection[str]) -> None:
        """Separate cookies from changes, and record both."""
        cookies = f"{self._cookies}{os.sep}"
        names = {path.removeprefix(cookies) for path in paths if path.startswith(cookies)}
        ignored = self._ignored()
        self._record_changes(
            {_to_relative(self._root, path) for path in paths if is_watched_path(self._root, path, ignored)}
        )
        with self._lock:  # last: a thread that sees its cookie must have all changes
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
                    return  # the folder exists but cannot be watched
                continue
            with closing(source):
                self._record_changes({ROOT})  # anything may have changed before watching started
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
                "%s cannot be watched (%s): CodeRAG scans for edits instead%s",
                self._root,
                error,
                _LIMIT_HINTS.get(error.errno or 0, ""),
            )
            return None

    def _follow(self, source: ChangeSource) -> None:
        """Record changes until stopped, or until a restart is needed."""
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
    """Open the change source of this operating system.

    Raises:
        OSError: The system cannot watch the folder.
    """
    if sys.platform == "linux":
        from coderag.ingestion.live import inotify  # noqa: PLC0415  # imports modules of Linux

        if inotify.is_available():
            return inotify.InotifySource(root, cookies, ignored, on_change)
    from coderag.ingestion.live.rust_notify import RustNotifySource  # noqa: PLC0415  # only where inotify is missing

    return RustNotifySource(root, cookies, on_change)


def _to_relative(root: Path, path: str) -> str:
    """Return a path relative to the root; `ROOT` if it is the root, outside of it, or not valid Unicode."""
    try:
        relative = Path(path).relative_to(root).as_posix()
    except ValueError:
        return ROOT
    return relative if relative != "." and is_valid_unicode(relative) else ROOT


def _read_identity(root: Path) -> tuple[int, int]:
    """Return the device and inode of a folder, which differ for a replacement."""
    try:
        status = root.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
