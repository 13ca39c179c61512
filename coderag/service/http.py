"""A request over HTTP/1.1 to the service on this machine. The standard library's client takes four times as long to import."""

import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from typing import Final

from coderag.errors import ServiceError

_LONGEST_LINE: Final = 65_536
_MOST_HEADERS: Final = 100
_PIECE: Final = 65_536


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. It is to be closed.

    Attributes:
        headers: By name in lower case.
    """

    status: int
    headers: Mapping[str, str]
    connection: socket.socket
    reader: BufferedReader

    def content(self) -> bytes:
        """Return the whole body.

        Raises:
            ServiceError: The connection broke off.
        """
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes. Raises as `content`."""
        try:
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                yield from self._chunks()
            elif (length := self.headers.get("content-length")) is not None:
                yield _exactly(self.reader, int(length))
            else:
                while piece := self.reader.read1(_PIECE):
                    yield piece
        except (OSError, ValueError) as error:
            raise _broken(error) from error

    def lines(self) -> Iterator[str]:
        """Yield the lines of the body as they come, without their ends. Raises as `content`."""
        rest = b""
        for piece in self.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r").decode("utf-8", "replace")
        if rest:
            yield rest.decode("utf-8", "replace")

    def close(self) -> None:
        """End the connection, whatever still comes."""
        self.reader.close()
        self.connection.close()

    def _chunks(self) -> Iterator[bytes]:
        while size := int(_line(self.reader).split(b";")[0], 16):
            yield _exactly(self.reader, size)
            _line(self.reader)
        while _line(self.reader):
            pass


def request(
    address: str, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, timeout_s: float | None
) -> Reply:
    """Send a request, and return the reply as soon as its headers are there.

    Args:
        address: ``unix:/path`` or ``http://host:port``.
        method: Of HTTP.
        path: With its query.
        headers: Beside those that every request has.
        body: Empty for none.
        timeout_s: Seconds to wait for each part of the reply; None waits for ever.

    Raises:
        ServiceError: Nobody is there, or the connection broke off.
    """
    told = {"Host": "localhost", "Connection": "close", **headers, "Content-Length": str(len(body))}
    head = "".join([f"{method} {path} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in told.items()), "\r\n"])
    connection = connect(address, timeout_s)
    reader = connection.makefile("rb")
    try:
        connection.sendall(head.encode("latin-1") + body)
        status = int(_line(reader).split(None, 2)[1])
        return Reply(status, _headers(reader), connection, reader)
    except (OSError, ValueError, IndexError) as error:
        reader.close()
        connection.close()
        raise _broken(error) from error
    except BaseException:
        reader.close()
        connection.close()
        raise


def connect(address: str, timeout_s: float | None) -> socket.socket:
    """Return a connection to the service, whatever is spoken on it.

    Args:
        address: ``unix:/path``, ``http://host:port`` or ``tcp:host:port``.
        timeout_s: Seconds that connecting, and each step after it, may take; None waits for ever.

    Raises:
        ServiceError: Nobody is there.
    """
    try:
        if address.startswith("unix:"):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.settimeout(timeout_s)
                connection.connect(os.fspath(address.removeprefix("unix:")))
            except BaseException:
                connection.close()
                raise
            return connection
        host, _, port = address.removeprefix("http://").removeprefix("tcp:").rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), timeout_s)
    except (OSError, ValueError, AttributeError) as error:  # AttributeError: a system without Unix sockets
        raise ServiceError(f"the service cannot be reached at {address}: {error}") from error


def _headers(reader: BufferedReader) -> dict[str, str]:
    found: dict[str, str] = {}
    while line := _line(reader):
        name, _, value = line.decode("latin-1").partition(":")
        found[name.strip().lower()] = value.strip()
        if len(found) > _MOST_HEADERS:
            raise ValueError("too many headers")
    return found


def _line(reader: BufferedReader) -> bytes:
    line = reader.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise ValueError("the reply ends in the midst of a line")
    return line.strip()


def _exactly(reader: BufferedReader, size: int) -> bytes:
    content = reader.read(size)
    if len(content) < size:
        raise ValueError("the reply ends before it is complete")
    return content


def _broken(error: Exception) -> ServiceError:
    return ServiceError(f"the service broke off: {error or type(error).__name__}")
