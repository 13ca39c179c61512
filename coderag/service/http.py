"""Minimal HTTP/1.1 client for the local service: `http.client` takes four times as long to import."""

import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from typing import Final

from coderag.errors import ServiceError

_MAX_LINE_BYTES: Final = 65_536
_MAX_HEADERS: Final = 100
_READ_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP reply. It must be closed.

    Attributes:
        headers: Headers by lower-case name.
    """

    status: int
    headers: Mapping[str, str]
    connection: socket.socket
    reader: BufferedReader

    def read_content(self) -> bytes:
        """Read the whole body.

        Raises:
            ServiceError: The connection broke off.
        """
        return b"".join(self.stream_body())

    def stream_body(self) -> Iterator[bytes]:
        """Yield the body as it arrives. Raises as `read_content`."""
        try:
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                yield from self._read_chunks()
            elif (length := self.headers.get("content-length")) is not None:
                yield _read_exactly(self.reader, int(length))
            else:
                while data := self.reader.read1(_READ_BYTES):
                    yield data
        except (OSError, ValueError) as error:
            raise _make_broken_error(error) from error

    def stream_lines(self) -> Iterator[str]:
        """Yield the lines of the body as they arrive, without line ends. Raises as `read_content`."""
        rest = b""
        for data in self.stream_body():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r").decode("utf-8", "replace")
        if rest:
            yield rest.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the connection."""
        self.reader.close()
        self.connection.close()

    def _read_chunks(self) -> Iterator[bytes]:
        while size := int(_read_line(self.reader).split(b";")[0], 16):
            yield _read_exactly(self.reader, size)
            _read_line(self.reader)
        while _read_line(self.reader):
            pass


def send_request(
    address: str, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, timeout_s: float | None
) -> HttpReply:
    """Send a request, and return the reply once its headers have arrived.

    Args:
        address: ``unix:/path`` or ``http://host:port``.
        method: HTTP method.
        path: Path with query.
        headers: Additional headers.
        body: Body; empty for none.
        timeout_s: Timeout for each part of the reply in seconds; None for none.

    Raises:
        ServiceError: The service is unreachable, or the connection broke off.
    """
    all_headers = {"Host": "localhost", "Connection": "close", **headers, "Content-Length": str(len(body))}
    head = "".join(
        [f"{method} {path} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in all_headers.items()), "\r\n"]
    )
    connection = connect(address, timeout_s)
    reader = connection.makefile("rb")
    try:
        connection.sendall(head.encode("latin-1") + body)
        status = int(_read_line(reader).split(None, 2)[1])
        return HttpReply(status, _read_headers(reader), connection, reader)
    except (OSError, ValueError, IndexError) as error:
        reader.close()
        connection.close()
        raise _make_broken_error(error) from error
    except BaseException:
        reader.close()
        connection.close()
        raise


def connect(address: str, timeout_s: float | None) -> socket.socket:
    """Connect to the service, for any protocol.

    Args:
        address: ``unix:/path``, ``http://host:port`` or ``tcp:host:port``.
        timeout_s: Timeout of connecting and of each later operation in seconds; None for none.

    Raises:
        ServiceError: The service is unreachable.
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
    except (OSError, ValueError, AttributeError) as error:  # AttributeError: no Unix sockets on this system
        raise ServiceError(f"the service cannot be reached at {address}: {error}") from error


def _read_headers(reader: BufferedReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    while line := _read_line(reader):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
        if len(headers) > _MAX_HEADERS:
            raise ValueError("too many headers")
    return headers


def _read_line(reader: BufferedReader) -> bytes:
    line = reader.readline(_MAX_LINE_BYTES)
    if not line.endswith(b"\n"):
        raise ValueError("the reply ends within a line")
    return line.strip()


def _read_exactly(reader: BufferedReader, size: int) -> bytes:
    content = reader.read(size)
    if len(content) < size:
        raise ValueError("the reply ends before it is complete")
    return content


def _make_broken_error(error: Exception) -> ServiceError:
    return ServiceError(f"the connection to the service broke off: {error or type(error).__name__}")
