"""Messages between a worker process and its parent: eight bytes of length and a pickle.

Parent to worker: `RunSettings`, then each `Job`, at the end None. Worker to parent: the position of each file it begins with,
and in the end a `JobResult` or a `Fault`; None when the run is put away.
"""

import pickle
from dataclasses import dataclass
from typing import IO, Any

_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of ours that ended a job."""

    message: str


def write_message(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(content).to_bytes(_LENGTH, "little"))
    stream.write(content)
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
