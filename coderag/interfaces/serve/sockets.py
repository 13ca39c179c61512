"""Listening sockets of the service, open only to this user unless a network address is configured."""

import os
import socket
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.errors import ServiceError
from coderag.service.discovery import SHORT_PREFIX, remove_socket

_MAX_PATH_BYTES: Final = 107 if sys.platform.startswith("linux") else 103
"""Maximum bytes of the path of a Unix socket."""

_BACKLOG: Final = 512


@dataclass(frozen=True, slots=True)
class LocalSocket:
    """A listening socket for the programs of this user.

    Attributes:
        address: As ``unix:/path`` or ``127.0.0.1:port``.
        file_identity: Identity of its file, to detect a replacement; None if it has no file.
    """

    socket: socket.socket
    address: str
    file_identity: tuple[int, int, int] | None = None

    @property
    def is_reachable(self) -> bool:
        """Return whether its file is still in place: a cleanup may have removed it."""
        try:
            return self.file_identity is None or _identify_file(self._path) == self.file_identity
        except FileNotFoundError:
            return False
        except OSError:  # unknown
            return True

    def remove(self) -> None:
        """Close it and remove its file."""
        self.socket.close()
        with suppress(OSError):
            if self.file_identity is not None and _identify_file(self._path) == self.file_identity:
                remove_socket(self._path)

    @property
    def _path(self) -> Path:
        return Path(self.address.removeprefix("unix:"))


def open_local_socket(folder: Path, name: str, *, unix: bool) -> LocalSocket:
    """Bind a socket for the programs of this user. The caller must hold the service lock.

    Args:
        folder: Folder of Unix sockets, unless the path is too long.
        name: Name of the file.
        unix: Whether to use a Unix socket; otherwise a free port of the loopback.

    Raises:
        ServiceError: The socket cannot be opened.
    """
    try:
        if not unix:
            bound = _open_tcp_socket("127.0.0.1", 0)
            return LocalSocket(bound, f"127.0.0.1:{bound.getsockname()[1]}")
        path = folder / name
        if len(os.fsencode(path)) > _MAX_PATH_BYTES:
            path = _make_short_folder() / name
        remove_socket(path)  # left by a service that was killed before it wrote its address
        bound = _bind_unix_socket(path)
    except OSError as error:
        raise ServiceError(f"the service's socket cannot be opened: {error}") from error
    return LocalSocket(bound, f"unix:{path}", _identify_file(path))


def open_network_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket on a network address.

    Raises:
        ServiceError: The address or port is not available.
    """
    try:
        return _open_tcp_socket(host.strip("[]"), port)
    except (OSError, OverflowError) as error:
        hint = "Choose another --port, or 0 for a free one; --host must be an address of this machine."
        raise ServiceError(f"cannot listen on {host}:{port}: {error}", hint=hint) from error


def _open_tcp_socket(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # on Windows it would let two programs share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound


def _bind_unix_socket(path: Path) -> socket.socket:
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(os.fspath(path))  # the folder is private, so nobody connects before the chmod
        path.chmod(0o600)
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound


def _identify_file(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino, status.st_mtime_ns  # inode numbers are reused


def _make_short_folder() -> Path:
    """Create a folder of this user with a short path; the address file records it."""
    for base in (None, "/tmp"):  # noqa: S108  # only a new private folder in it
        folder = Path(tempfile.mkdtemp(prefix=SHORT_PREFIX, dir=base))
        if len(os.fsencode(folder)) + len("/mcp.sock") + 1 <= _MAX_PATH_BYTES:
            return folder
        folder.rmdir()
    raise OSError("no folder has a path that is short enough for a socket")
