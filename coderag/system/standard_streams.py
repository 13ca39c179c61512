"""Reservation of standard input and output for messages. Imports nothing slow."""

import os
import sys
from contextlib import suppress
from typing import Final

STDOUT: Final = 1

_STDIN: Final = 0
_STDERR: Final = 2


def take_streams() -> tuple[int, int]:
    """Move standard input and output to new descriptors, which children do not inherit.

    From now on descriptor 0 is empty and descriptor 1 is standard error, for this process and its children. So a
    ``print`` of a library, or a program that reads its input, such as git, cannot disturb the messages.

    Raises:
        OSError: Standard output is closed, or no descriptor is free.
    """
    os.fstat(STDOUT)
    for descriptor in (_STDIN, _STDERR):  # otherwise a duplicate could get one of these numbers
        if not is_open(descriptor):
            os.open(os.devnull, os.O_RDWR)
    output = _replace_descriptor(STDOUT, os.dup(_STDERR))
    return _replace_descriptor(_STDIN, os.open(os.devnull, os.O_RDONLY)), output


def is_open(descriptor: int) -> bool:
    """Return whether a descriptor is open."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _replace_descriptor(descriptor: int, replacement: int) -> int:
    """Duplicate a descriptor and let the original refer to `replacement`; return the duplicate."""
    try:
        duplicate = os.dup(descriptor)
        os.dup2(replacement, descriptor)
    finally:
        os.close(replacement)
    if os.name == "nt":
        _update_windows_handle(descriptor)
    else:
        with suppress(OSError):
            os.set_blocking(duplicate, True)
    return duplicate


def _update_windows_handle(descriptor: int) -> None:
    """Update the standard handle, which children inherit, to the descriptor."""
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415  # Windows only
        import msvcrt  # noqa: PLC0415  # Windows only

        ctypes.windll.kernel32.SetStdHandle(-10 - descriptor, msvcrt.get_osfhandle(descriptor))
