"""Standard input and output as the wire of a session, used by nothing else in the process."""

import os
import threading
from collections.abc import Iterator
from typing import Final

from coderag.system.standard_streams import STDOUT, is_open, take_streams

_READ_BYTES: Final = 1 << 16


class WireClosedError(Exception):
    """The client has disconnected, or was never connected."""


class Wire:
    """Byte stream from the client and lines to it. Thread-safe for writing.

    From its construction on, descriptor 1 is standard error and descriptor 0 is empty (see `take_streams`), so that
    nothing else can disturb the session.

    Raises:
        WireClosedError: Standard output is closed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        if not is_open(STDOUT):
            raise WireClosedError("standard output is closed")
        try:
            self._in, self._out = take_streams()
        except OSError as error:
            raise WireClosedError(f"standard input or output cannot be used: {error.strerror or error}") from error

    def read(self) -> Iterator[bytes]:
        """Yield bytes as they arrive, until the client closes the stream."""
        while True:
            try:
                data = os.read(self._in, _READ_BYTES)
            except OSError:
                return
            if not data:
                return
            yield data

    def write(self, line: bytes) -> None:
        """Write one or more complete lines.

        Raises:
            WireClosedError: The client no longer reads.
        """
        unsent = memoryview(line)
        with self._lock:
            while unsent:
                try:
                    unsent = unsent[os.write(self._out, unsent) :]
                except OSError as error:
                    raise WireClosedError(f"the client has stopped reading: {error.strerror or error}") from error
