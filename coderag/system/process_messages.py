"""Messages between two processes of our own: eight bytes of length and a pickle."""

import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple

_LENGTH = 8


class Pipes(NamedTuple):
    """What another process reads, and what it writes."""

    requests: IO[bytes]
    answers: IO[bytes]


ProcessLender = Callable[[str], AbstractContextManager[Pipes]]
"""Lends a process that runs a function of ours, given as ``module:function``, with its two pipes. The borrower has it return
before the block is left; a process whose function does not, or whose borrower fails, is ended."""


class HelperProcesses(NamedTuple):
    """Other processes that may help.

    Attributes:
        number: How many, at most.
        lend: Lends one of them.
    """

    max_processes: int
    lend: ProcessLender


def pack_message(message: object) -> bytes:
    """Return one message as it is written."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return len(content).to_bytes(_LENGTH, "little") + content


def write_message(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    stream.write(pack_message(message))
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:  # noqa: ANN401  # whatever was written
    """Return the next message.

    Raises:
        EOFError: There is none, or not the whole of it: the other side is gone.
    """
    length = stream.read(_LENGTH)
    size = int.from_bytes(length, "little")
    content = stream.read(size)
    if len(length) < _LENGTH or len(content) < size:
        raise EOFError
    return pickle.loads(content)  # noqa: S301  # from our own process
