"""Readiness: whether this process can serve requests, for load balancers."""

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from coderag.errors import ServerError, StorageFullError
from coderag.server.sealing import read_master_key

_CACHE_S: Final = 2.0
_MIN_FREE_BYTES: Final = 64 << 20

OK: Final = "ok"
FAILED: Final = "failed"
DRAINING: Final = "draining"

_log = logging.getLogger(__name__)

Check = Callable[[], None]
"""Raises an exception if what it checks cannot be used."""


class Readiness:
    """State of what requests need. Thread-safe.

    Anybody may ask, so the result is reused for some seconds, and has no reasons; the log has them.

    Args:
        checks: Checks by name.
        cache_s: Seconds that a result is reused.
        timer: Monotonic clock in seconds.
    """

    def __init__(
        self, checks: Mapping[str, Check], *, cache_s: float = _CACHE_S, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._checks = dict(checks)
        self._cache_s = cache_s
        self._timer = timer
        self._lock = threading.Lock()
        self._result: dict[str, str] | None = None
        self._checked_at = 0.0
        self._is_draining = False

    def check(self) -> dict[str, str]:
        """Return the state of each part, and of the process."""
        # Where a check hangs, those who ask meanwhile get the last result, and occupy no thread.
        if self._lock.acquire(blocking=self._result is None):
            try:
                if self._result is None or self._timer() - self._checked_at >= self._cache_s:
                    self._result = {name: self._run(name, check) for name, check in self._checks.items()}
                    self._checked_at = self._timer()
            finally:
                self._lock.release()
        return {**(self._result or {}), "process": DRAINING if self._is_draining else OK}

    def drain(self) -> None:
        """Be unready from now on, so that load balancers send no more requests while the last ones end."""
        self._is_draining = True

    def _run(self, name: str, check: Check) -> str:
        try:
            check()
        except Exception as error:  # noqa: BLE001  # whatever fails, the process is not ready
            if self._result is None or self._result.get(name) != FAILED:
                _log.error("not ready: %s: %s", name, type(error).__name__)
            return FAILED
        return OK


def make_key_check(path: Path) -> Check:
    """Make a check that the master key can be read."""

    def check() -> None:
        read_master_key(path)

    return check


def make_folder_check(path: Path, min_free_bytes: int = _MIN_FREE_BYTES) -> Check:
    """Make a check that a folder can be written to, and that its disk is not full."""

    def check() -> None:
        if not os.access(path, os.W_OK | os.X_OK):
            raise ServerError(f"{path}: cannot be written")
        if shutil.disk_usage(path).free < min_free_bytes:
            raise StorageFullError(f"{path}: less than {min_free_bytes >> 20} MiB are free")

    return check
