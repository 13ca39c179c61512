"""Standard input and output as the wire of a session: nothing else in the process reads or writes them."""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

_CHUNK: Final = 1 << 16
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class WireClosedError(Exception):
    """The client is gone, or was never there."""


class Wire:
    """The client's end: bytes in, lines out. It may be written by several threads.

    From the moment it is made, descriptor 1 is standard error and descriptor 0 is empty, for this process and for its children:
    a ``print`` of a library, or a program that reads its input, cannot disturb the session.

    Raises:
        WireClosedError: Standard output is closed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._has_input = _is_open(_STDIN)
        if not _is_open(_STDOUT):
            raise WireClosedError("standard output is closed")
        for descriptor in (_STDIN, _STDERR):  # else a duplicate could become one of them
            if not _is_open(descriptor):
                os.open(os.devnull, os.O_RDWR)
        try:
            self._out = _taken(_STDOUT, os.dup(_STDERR))
            self._in = _taken(_STDIN, os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            raise WireClosedError(f"standard input or output cannot be used: {error.strerror or error}") from error

    def read(self) -> Iterator[bytes]:
        """Yield what comes, as it comes, until the client closes it."""
        while self._has_input:
            try:
                data = os.read(self._in, _CHUNK)
            except OSError:
                return
            if not data:
                return
            yield data

    def write(self, line: bytes) -> None:
        """Write one or more whole lines.

        Raises:
            WireClosedError: Nobody reads them.
        """
        rest = memoryview(line)
        with self._lock:
            while rest:
                try:
                    rest = rest[os.write(self._out, rest) :]
                except OSError as error:
                    raise WireClosedError(f"the client reads no more: {error.strerror or error}") from error


def _taken(descriptor: int, instead: int) -> int:
    """Return another descriptor of what `descriptor` is, which becomes `instead`."""
    try:
        own = os.dup(descriptor)
        os.dup2(instead, descriptor)
    finally:
        os.close(instead)
    if os.name == "nt":
        _tell_windows(descriptor)
    else:
        with suppress(OSError):
            os.set_blocking(own, True)
    return own


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _tell_windows(descriptor: int) -> None:
    """Make the standard handle, which children inherit, what the descriptor is now."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415  # only there

        ctypes.windll.kernel32.SetStdHandle(-10 - descriptor, msvcrt.get_osfhandle(descriptor))
