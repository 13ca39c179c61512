"""Lines of JSON-RPC, cut out of a stream of bytes. Imports nothing slow."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX_LINE: Final = 8 * 1024 * 1024
"""Bytes of one message, at most."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
CONNECTION_CLOSED: Final = -32000

MessageId = str | int
Message = Mapping[str, Any]


class LineCutter:
    """Cuts what a stream brings into lines, and holds no more than one line of the greatest length.

    Args:
        limit: Bytes of a line, at most.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._skipping = False

    def cut(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the lines that are complete now, without their ends; None stands for one that is too long."""
        *complete, rest = data.split(b"\n")
        for part in complete:
            yield from self._take(part)
            if not self._skipping and (line := bytes(self._rest).strip()):
                yield line
            self._rest.clear()
            self._skipping = False
        yield from self._take(rest)

    def _take(self, part: bytes) -> Iterator[None]:
        """Add to the line that has begun; yield once if it becomes too long, and skip the rest of it."""
        if self._skipping:
            return
        self._rest += part
        if len(self._rest) > self._limit:
            self._rest.clear()
            self._skipping = True
            yield None


def parse(line: bytes) -> Message | None:
    """Return the message of a line; None if it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None


def id_of(message: Message) -> MessageId | None:
    """Return the id of a request or of a reply; None if it has none that JSON-RPC knows."""
    given = message.get("id")
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def to_line(message: Message) -> bytes:
    """Return a message as a line, with its end."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def result_line(request: MessageId, result: Message) -> bytes:
    """Return the reply to a request."""
    return to_line({"jsonrpc": "2.0", "id": request, "result": result})


def error_line(request: MessageId | None, code: int, text: str, data: Message | None = None) -> bytes:
    """Return the reply to a request that failed; without a request, to something that is none."""
    error = {"code": code, "message": text, **({"data": data} if data else {})}
    return to_line({"jsonrpc": "2.0", "id": request, "error": error})


TOO_LONG: Final = error_line(None, INVALID_REQUEST, f"A message may have {MAX_LINE} bytes at most; one was longer.")
"""The reply to a line that is too long."""
