"""Whether a process lives, on every system. Imports nothing slow."""

import os
import sys
from typing import Final

_SYNCHRONIZE: Final = 0x0010_0000
_STILL_RUNNING: Final = 0x102


def is_alive(pid: int) -> bool:
    """Whether there is a process with this number; it may be another one than the one that was meant."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return False  # somebody else's, or no number of a process: no service of this user
    return True


def _is_alive_on_windows(pid: int) -> bool:
    # `os.kill` has no signal 0 there: it would send Ctrl-C.
    import ctypes  # noqa: PLC0415  # only on Windows

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(_SYNCHRONIZE, False, pid)  # as the system calls it
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == _STILL_RUNNING)
    finally:
        kernel.CloseHandle(handle)
