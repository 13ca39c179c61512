"""``coderag mcp`` as a process: when it ends, and how. Imports nothing slow."""

import logging
import os
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from enum import Enum
from types import FrameType
from typing import Final

from coderag.interfaces._errors import INTERRUPTED, SUCCESS
from coderag.interfaces.mcp.framing import LineCutter
from coderag.interfaces.mcp.stdio.backends import Backends, SessionOptions
from coderag.interfaces.mcp.stdio.front import Front
from coderag.interfaces.mcp.stdio.handshake import Handshake
from coderag.interfaces.mcp.stdio.wire import Wire, WireClosedError

ANSWER_S: Final = 1.0
"""Seconds that a client which has closed its side still waits for replies."""

CONNECT_S: Final = 5.0
"""Seconds more if what is behind is still being connected."""

LEAVE_S: Final = 4.0
"""Seconds after which the process is gone, whatever still runs in it."""

_TICK_S: Final = 1.0
_IDLE_TICK_S: Final = 0.02


class End(Enum):
    """Why a session ends."""

    INPUT = "the client has closed its side"
    CLIENT = "nobody reads what is written"
    PARENT = "the process that started this one is gone"
    TERMINATED = "a signal"
    INTERRUPTED = "Ctrl-C"


Ends = queue.SimpleQueue[End]


def serve_stdio(options: SessionOptions) -> int:
    """Serve one session over standard input and output, and return the exit code.

    Raises:
        WireClosedError: Standard output is closed.
    """
    parent = os.getppid()  # before anything is answered: whoever has the answer may be killed
    wire, ends = Wire(), Ends()
    _listen_to_signals(ends)

    def write(line: bytes) -> None:
        try:
            wire.write(line)
        except WireClosedError:
            ends.put(End.CLIENT)

    backends = Backends(options)
    front = Front(write, backends, Handshake(options.tools))
    threading.Thread(target=_read, args=(wire, front, ends), name="mcp-reader", daemon=True).start()
    end = _wait(ends, parent)
    if end is End.INPUT:
        end = _answer_rest(front, ends)
    code = INTERRUPTED if end is End.INTERRUPTED else SUCCESS
    _end_by_force(code)
    front.close()
    if backends.close():  # the interpreter would wait for what its pools of threads still compute
        _leave(code)
    return code


def _read(wire: Wire, front: Front, ends: Ends) -> None:
    cutter = LineCutter()
    for data in wire.read():
        for line in cutter.cut(data):
            front.from_client(line)
    ends.put(End.INPUT)


def _listen_to_signals(ends: Ends) -> None:
    def note(number: int, _: FrameType | None) -> None:
        ends.put(End.INTERRUPTED if number == signal.SIGINT else End.TERMINATED)

    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, note)


def _wait(ends: Ends, parent: int) -> End:
    """Wait until the session ends. Where there are no parents that change, their end closes the input."""
    while True:
        try:
            return ends.get(timeout=_TICK_S)
        except queue.Empty:
            if os.getppid() != parent:
                return End.PARENT


def _answer_rest(front: Front, ends: Ends) -> End:
    """Give the requests that are under way a moment; another reason to end ends that."""
    deadline = time.monotonic() + ANSWER_S + CONNECT_S
    connected_at: float | None = None
    while not front.is_idle and time.monotonic() < deadline:
        if connected_at is None and front.is_connected:
            connected_at = time.monotonic()
            deadline = min(deadline, connected_at + ANSWER_S)
        try:
            return ends.get(timeout=_IDLE_TICK_S)
        except queue.Empty:
            continue
    return End.INPUT


def _end_by_force(code: int) -> None:
    """See to it that the process is gone in a while, and at the next signal at once."""
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK", "SIGINT"):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_DFL)
    timer = threading.Timer(LEAVE_S, _leave, (code,))
    timer.daemon = True
    timer.start()


def _leave(code: int) -> None:
    """End the process without waiting for its threads: a computation that nobody waits for cannot be stopped."""
    logging.shutdown()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
