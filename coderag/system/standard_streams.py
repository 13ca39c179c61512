"""Standard input and output, taken for messages that nothing else in the process may disturb. Imports nothing slow."""

import os
import sys
from contextlib import suppress
from typing import Final

STDOUT: Final = 1

_STDIN: Final = 0
_STDERR: Final = 2


def take_streams() -> tuple[int, int]:
    """Return other descriptors of what standard input and standard output are, which children do not inherit.

    From now on descriptor 0 is empty and descriptor 1 is standard error, for this process and for its children: a ``print`` of
    a library, or a program that reads its input, as git may, does not disturb what is said over the other ones.

    Raises:
        OSError: Standard output is closed, or there are no more descriptors.
    """
    os.fstat(STDOUT)
    for descriptor in (_STDIN, _STDERR):  # else a duplicate could become one of them
        if not is_open(descriptor):
            os.open(os.devnull, os.O_RDWR)
    output = _replace_descriptor(STDOUT, os.dup(_STDERR))
    return _replace_descriptor(_STDIN, os.open(os.devnull, os.O_RDONLY)), output


def is_open(descriptor: int) -> bool:
    """Whether there is anything behind a descriptor."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _replace_descriptor(descriptor: int, replacement: int) -> int:
    """Return another descriptor of what `descriptor` is, which becomes `instead`."""
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
    """Make the standard handle, which children inherit, what the descriptor is now."""
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415  # only there
        import msvcrt  # noqa: PLC0415  # only there

        ctypes.windll.kernel32.SetStdHandle(-10 - descriptor, msvcrt.get_osfhandle(descriptor))
