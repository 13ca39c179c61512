"""Messages between processes of CodeRAG: eight bytes of length and a pickle."""

import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple

_LENGTH = 8


class Pipes(NamedTuple):
    """Input and output pipe of another process."""

    requests: IO[bytes]
    answers: IO[bytes]


ProcessLender = Callable[[str], AbstractContextManager[Pipes]]
"""Lends a process that runs a function, given as ``module:function``, with its two pipes.

The function must return before the block ends; otherwise, or if the borrower fails, the process is killed."""


class HelperProcesses(NamedTuple):
    """Helper processes.

    Attributes:
        max_processes: Maximum number of processes.
        lend: Lends one of them.
    """

    max_processes: int
    lend: ProcessLender


def pack_message(message: object) -> bytes:
    """Serialise a message."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return len(content).to_bytes(_LENGTH, "little") + content


def write_message(stream: IO[bytes], message: object) -> None:
    """Write a message."""
    stream.write(pack_message(message))
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:  # noqa: ANN401  # any pickled value
    """Read the next message.

    Raises:
        EOFError: The stream ended, possibly within a message: the other side is gone.
    """
    length = stream.read(_LENGTH)
    size = int.from_bytes(length, "little")
    content = stream.read(size)
    if len(length) < _LENGTH or len(content) < size:
        raise EOFError
    return pickle.loads(content)  # noqa: S301  # written by our own process
