"""The process of ``coderag mcp`` and its end. Imports nothing slow."""

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

from coderag.interfaces.error_table import INTERRUPTED, SUCCESS
from coderag.interfaces.mcp.framing import LineCutter
from coderag.interfaces.mcp.stdio.backends import BackendSelector, SessionOptions
from coderag.interfaces.mcp.stdio.handshake import Handshake
from coderag.interfaces.mcp.stdio.proxy import SessionProxy
from coderag.interfaces.mcp.stdio.wire import Wire, WireClosedError

ANSWER_GRACE_S: Final = 1.0
"""Seconds that requests have left once the client has closed its side."""

CONNECT_GRACE_S: Final = 5.0
"""Additional seconds if the backend is still being connected."""

EXIT_TIMEOUT_S: Final = 4.0
"""Seconds after which the process exits, whatever still runs in it."""

_TICK_S: Final = 1.0
_IDLE_TICK_S: Final = 0.02


class SessionEnd(Enum):
    """Reason why a session ends."""

    INPUT = "the client has closed its side"
    CLIENT = "nobody reads what is written"
    PARENT = "the process that started this one is gone"
    TERMINATED = "a signal"
    INTERRUPTED = "Ctrl-C"


SessionEnds = queue.SimpleQueue[SessionEnd]


def serve_stdio(options: SessionOptions) -> int:
    """Serve one session over standard input and output, and return the exit code.

    Raises:
        WireClosedError: Standard output is closed.
    """
    parent = os.getppid()  # before the first reply: after it, the parent may be killed
    wire, ends = Wire(), SessionEnds()
    _listen_to_signals(ends)

    def write(line: bytes) -> None:
        try:
            wire.write(line)
        except WireClosedError:
            ends.put(SessionEnd.CLIENT)

    backends = BackendSelector(options)
    proxy = SessionProxy(write, backends, Handshake(options.tools))
    threading.Thread(target=_read_input, args=(wire, proxy, ends), name="mcp-reader", daemon=True).start()
    end = _wait_for_end(ends, parent)
    if end is SessionEnd.INPUT:
        end = _drain_requests(proxy, ends)
    code = INTERRUPTED if end is SessionEnd.INTERRUPTED else SUCCESS
    _schedule_exit(code)
    proxy.close()
    if backends.close():  # the interpreter would wait for its thread pools
        _exit_process(code)
    return code


def _read_input(wire: Wire, proxy: SessionProxy, ends: SessionEnds) -> None:
    cutter = LineCutter()
    for data in wire.read():
        for line in cutter.cut(data):
            proxy.handle_client_line(line)
    ends.put(SessionEnd.INPUT)


def _listen_to_signals(ends: SessionEnds) -> None:
    def note(number: int, _: FrameType | None) -> None:
        ends.put(SessionEnd.INTERRUPTED if number == signal.SIGINT else SessionEnd.TERMINATED)

    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, note)


def _wait_for_end(ends: SessionEnds, parent: int) -> SessionEnd:
    """Wait until the session ends. On Windows, where the parent id never changes, the parent's end closes the input."""
    while True:
        try:
            return ends.get(timeout=_TICK_S)
        except queue.Empty:
            if os.getppid() != parent:
                return SessionEnd.PARENT


def _drain_requests(proxy: SessionProxy, ends: SessionEnds) -> SessionEnd:
    """Give requests in flight a moment; stop early for another reason to end."""
    deadline = time.monotonic() + ANSWER_GRACE_S + CONNECT_GRACE_S
    connected_at: float | None = None
    while not proxy.is_idle and time.monotonic() < deadline:
        if connected_at is None and proxy.is_connected:
            connected_at = time.monotonic()
            deadline = min(deadline, connected_at + ANSWER_GRACE_S)
        try:
            return ends.get(timeout=_IDLE_TICK_S)
        except queue.Empty:
            continue
    return SessionEnd.INPUT


def _schedule_exit(code: int) -> None:
    """Schedule the exit of the process; the next signal ends it at once."""
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK", "SIGINT"):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_DFL)
    timer = threading.Timer(EXIT_TIMEOUT_S, _exit_process, (code,))
    timer.daemon = True
    timer.start()


def _exit_process(code: int) -> None:
    """End the process without waiting for its threads, which cannot be stopped."""
    logging.shutdown()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
