"""Messages between two processes of our own: eight bytes of length and a pickle."""

import pickle
from typing import IO, Any

_LENGTH = 8


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
