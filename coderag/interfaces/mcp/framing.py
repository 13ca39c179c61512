"""JSON-RPC framing: messages as lines of a byte stream. Imports nothing slow."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX_LINE_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of one message in bytes."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
CONNECTION_CLOSED: Final = -32000

MessageId = str | int
Message = Mapping[str, Any]


class LineCutter:
    """Splitter of a byte stream into lines; it buffers at most one line of the maximum length.

    Args:
        max_bytes: Maximum bytes of a line.
    """

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._is_skipping = False

    def cut(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the lines completed by this data, without line ends; None stands for a line that is too long."""
        *complete, rest = data.split(b"\n")
        for part in complete:
            yield from self._take(part)
            if not self._is_skipping and (line := bytes(self._rest).strip()):
                yield line
            self._rest.clear()
            self._is_skipping = False
        yield from self._take(rest)

    def _take(self, part: bytes) -> Iterator[None]:
        """Append to the current line; yield once if it becomes too long, and skip the rest of it."""
        if self._is_skipping:
            return
        self._rest += part
        if len(self._rest) > self._max_bytes:
            self._rest.clear()
            self._is_skipping = True
            yield None


def parse_message(line: bytes) -> Message | None:
    """Parse a line as a message; None if it is not a JSON-RPC 2.0 message."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None


def get_message_id(message: Message) -> MessageId | None:
    """Return the id of a request or reply; None if it has no valid id."""
    message_id = message.get("id")
    return message_id if isinstance(message_id, str | int) and not isinstance(message_id, bool) else None


def to_line(message: Message) -> bytes:
    """Encode a message as a line with its line end."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def encode_result(request: MessageId, result: Message) -> bytes:
    """Encode the reply to a request."""
    return to_line({"jsonrpc": "2.0", "id": request, "result": result})


def encode_error(request: MessageId | None, code: int, text: str, data: Message | None = None) -> bytes:
    """Encode an error reply; `request` is None if the id of the request is unknown."""
    error = {"code": code, "message": text, **({"data": data} if data else {})}
    return to_line({"jsonrpc": "2.0", "id": request, "error": error})


LINE_TOO_LONG_REPLY: Final = encode_error(
    None, INVALID_REQUEST, f"A message may have {MAX_LINE_BYTES} bytes at most; this one is longer."
)
"""Reply to a line that is too long."""
