"""Change source on Linux inotify: each change in order, or a report of lost changes.

Every folder has a watch; all watches feed one queue. A change is in the queue before the system call that made it returns.
Source: inotify(7), https://man7.org/linux/man-pages/man7/inotify.7.html.
"""

import ctypes
import errno
import fcntl
import os
import select
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.ingestion.live.change_source import MAX_GATHER_S, QUIET_S, ChangeCallback, is_valid_unicode
from coderag.ingestion.watching import is_watched_path

_ATTRIB: Final = 0x4
_MOVED_FROM: Final = 0x40
_MOVED_TO: Final = 0x80
_CREATE: Final = 0x100
_DELETE: Final = 0x200
_OVERFLOW: Final = 0x4000
_IGNORED: Final = 0x8000
_IS_FOLDER: Final = 0x4000_0000

_ONLY_FOLDERS: Final = 0x100_0000 | 0x200_0000  # IN_ONLYDIR, IN_DONT_FOLLOW
_MASK: Final = (
    _ONLY_FOLDERS
    | 0x400_0000  # IN_EXCL_UNLINK: ignore writes to deleted files
    | 0x2  # IN_MODIFY
    | 0x8  # IN_CLOSE_WRITE: the only event for writes through a memory map
    | (_ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE)
)
_ROOT_MASK: Final = _MASK | 0x400 | 0x800  # IN_DELETE_SELF, IN_MOVE_SELF
_COOKIES_MASK: Final = _ONLY_FOLDERS | _CREATE | 0x2000_0000  # IN_MASK_ADD: the folder may have a watch already

_EVENT_STRUCT: Final = struct.Struct("iIII")
_SIZE_STRUCT: Final = struct.Struct("i")
_QUEUE_DRAIN_BYTES: Final = 1 << 17
"""A queue of this size is drained without waiting for a pause: some 4,000 of at most 16,384 changes."""

_LIMIT_ERRNOS: Final = frozenset((errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE))


def is_available() -> bool:
    """Return whether Python and its C library provide inotify; a statically linked library cannot be queried."""
    try:
        return hasattr(ctypes.CDLL(None), "inotify_init1") and hasattr(os, "eventfd")
    except OSError:
        return False


class InotifySource:
    """A `ChangeSource` on inotify system calls.

    Args:
        root: Folder of the repository.
        cookies: The cookie folder; it need not exist.
        ignored: Returns the paths without a watch, see `is_watched_path`. Folders that leave the set are reported.
        on_change: Receives the changes under a lock; it must not call back.

    Raises:
        OSError: The system cannot watch the folder; ENOSPC or EMFILE if a limit is reached.
    """

    def __init__(self, root: Path, cookies: Path, ignored: Callable[[], Set[str]], on_change: ChangeCallback) -> None:
        self._root = str(root)
        self._root_path = root
        self._cookies = str(cookies)
        self._ignored = ignored
        self._on_change = on_change
        self._lock = threading.Lock()
        self._active_ignored = ignored()
        self._folders: dict[int, str] = {}  # by watch
        self._watches: dict[str, int] = {}  # by folder
        self._cookies_watch = -1
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._check_result(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._stop_descriptor = -1
        try:
            self._stop_descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._sync_watches(self._root)
            self._check_root()
            with suppress(FileNotFoundError):
                self.watch_cookies()
        except OSError:
            self.close()
            raise

    def poll(self, timeout_s: float, *, gather: bool = False) -> None:
        """See `ChangeSource`."""
        if timeout_s > 0:
            self._wait(timeout_s, gather=gather)
        with self._lock:  # held until the callback returns: another thread must not see its cookie earlier
            if self._queue < 0:
                return
            try:
                changes = [*self._update_ignored(), *self._read_paths()]
                self._check_root()
            except OSError:
                self._on_change([self._root])
                raise
            if changes:
                self._on_change(changes)

    def watch_cookies(self) -> None:
        """See `ChangeSource`."""
        with self._lock:
            if self._queue >= 0:
                self._cookies_watch = self._add_watch(self._cookies, _COOKIES_MASK)

    def stop(self) -> None:
        """See `ChangeSource`."""
        with self._lock:
            if self._stop_descriptor >= 0:
                os.eventfd_write(self._stop_descriptor, 1)

    def close(self) -> None:
        """See `ChangeSource`."""
        with self._lock:
            for descriptor in (self._queue, self._stop_descriptor):
                if descriptor >= 0:
                    os.close(descriptor)
            self._queue = self._stop_descriptor = -1

    # The queue

    def _wait(self, timeout_s: float, *, gather: bool) -> None:
        queue, stop_descriptor = self._queue, self._stop_descriptor
        if queue < 0:
            return
        poll = select.poll()
        poll.register(stop_descriptor, select.POLLIN)
        poll.register(queue, select.POLLIN)
        if not poll.poll(timeout_s * 1_000) or not gather:
            return
        poll.unregister(queue)
        deadline, previous_bytes = time.monotonic() + MAX_GATHER_S, -1
        while (
            previous_bytes < (queued_bytes := self._count_queued_bytes()) < _QUEUE_DRAIN_BYTES
            and time.monotonic() < deadline
        ):
            previous_bytes = queued_bytes
            if poll.poll(QUIET_S * 1_000):
                return

    def _count_queued_bytes(self) -> int:
        """Return the number of bytes in the queue."""
        size = bytearray(_SIZE_STRUCT.size)
        fcntl.ioctl(self._queue, termios.FIONREAD, size)
        return int(_SIZE_STRUCT.unpack(size)[0])

    def _read_paths(self) -> Iterator[str]:
        """Yield the paths of all changes in the queue."""
        queued_bytes = self._count_queued_bytes()
        data = os.read(self._queue, queued_bytes) if queued_bytes else b""
        start = 0
        while start < len(data):
            watch, event_mask, _, length = _EVENT_STRUCT.unpack_from(data, start)
            start += _EVENT_STRUCT.size + length
            name = data[start - length : start].rstrip(b"\0")
            if event_mask & _OVERFLOW:
                self._sync_watches(self._root)
                yield self._root
            elif watch in self._folders:  # otherwise it was removed, which was reported
                yield from self._handle_event(watch, event_mask, os.fsdecode(name))

    def _handle_event(self, watch: int, event_mask: int, name: str) -> Iterator[str]:
        folder = self._folders[watch]
        if event_mask & _IGNORED:  # the folder is gone
            self._forget_watch(watch)
            return
        path = f"{folder}/{name}" if name else folder
        if event_mask & _IS_FOLDER and name:
            if event_mask & _DELETE:  # it was empty; a successor has its own event
                self._forget_watch(self._watches.get(path, -1))
            elif not (event_mask & _ATTRIB and path in self._watches):
                self._sync_watches(path)
        yield path

    # The watches

    def _sync_watches(self, top: str) -> None:
        """Watch a folder and all relevant folders below it, and drop stale watches there.

        Raises:
            OSError: A limit is reached.
        """
        old_watches = set(self._iterate_watches(top)) if top in self._watches else set()
        pending = [top] if self._is_relevant(top) else []
        while pending:
            path = pending.pop()
            try:
                old_watches.discard(self._add_watch(path, _ROOT_MASK if path == self._root else _MASK))
                with os.scandir(path) as entries:  # later additions are reported
                    folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError as error:
                if error.errno in _LIMIT_ERRNOS:
                    raise
                continue  # it is gone or unreadable
            pending += filter(self._is_relevant, folders)
        for watch in old_watches - {self._cookies_watch}:
            self._forget_watch(watch)
            self._libc.inotify_rm_watch(self._queue, watch)  # fails if the folder is gone

    def _iterate_watches(self, top: str) -> Iterator[int]:
        prefix = f"{top}/"
        return (watch for path, watch in self._watches.items() if path == top or path.startswith(prefix))

    def _is_relevant(self, path: str) -> bool:
        return is_valid_unicode(path) and is_watched_path(self._root_path, path, self._active_ignored)

    def _add_watch(self, path: str, mask: int) -> int:
        watch = self._check_result(self._libc.inotify_add_watch(self._queue, os.fsencode(path), mask), path)
        if self._folders.get(watch) != path:  # it is new or was moved
            self._forget_watch(watch)
            self._folders.pop(self._watches.get(path, -1), None)
            self._folders[watch], self._watches[path] = path, watch
        return watch

    def _forget_watch(self, watch: int) -> None:
        path = self._folders.pop(watch, None)
        if path is not None and self._watches.get(path) == watch:
            del self._watches[path]

    def _update_ignored(self) -> Iterator[str]:
        """Apply the current ignore rules; yield the folders that are no longer ignored."""
        ignored, previous = self._ignored(), self._active_ignored
        if ignored is previous:
            return
        self._active_ignored = ignored
        for path in ignored ^ previous:
            folder = f"{self._root}/{path[:-1]}"
            if path.endswith("/") and (path in previous or folder in self._watches):
                self._sync_watches(folder)
                if folder in self._watches:
                    yield folder

    def _check_root(self) -> None:
        """Raise an error if the root is gone: a replacement may even have the same inode."""
        if self._root not in self._watches:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._root)

    def _check_result(self, result: int, path: str = "") -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path or None)
        return result
