"""Portable check for living processes. Imports nothing slow."""

import os
import sys
from typing import Final

_SYNCHRONIZE: Final = 0x0010_0000
_STILL_RUNNING: Final = 0x102


def is_alive(pid: int) -> bool:
    """Return whether a process with this id is running; ids may be reused."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return False  # another user's process or an invalid id
    return True


def _is_alive_on_windows(pid: int) -> bool:
    # `os.kill(pid, 0)` would send Ctrl-C on Windows.
    import ctypes  # noqa: PLC0415  # only on Windows

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(_SYNCHRONIZE, False, pid)  # positional argument of the system call
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == _STILL_RUNNING)
    finally:
        kernel.CloseHandle(handle)
