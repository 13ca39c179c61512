"""Socket and session key of the web interface; both outlive the service, so that open pages go on after a restart."""

import secrets
import socket
from pathlib import Path
from typing import Final

from coderag.errors import ServiceError
from coderag.interfaces.serve.sockets import open_network_socket
from coderag.interfaces.web.sessions import KEY_BYTES
from coderag.service.discovery import ensure_runtime_folder
from coderag.service.runtime_folder import write_private_file

DEFAULT_WEB_PORT: Final = 8321
"""Usual port of the web interface, so that its pages find a restarted service."""

_WEB_HOST: Final = "127.0.0.1"
_SESSION_KEY_FILE: Final = "web-session.key"
_WEB_PORT_FILE: Final = "web-port"
_MAX_PORT: Final = 65_535


def open_web_socket(port: int | None) -> socket.socket:
    """Open the socket of the web interface.

    Without a port, it takes the last one, so that open pages find a restarted service, then the usual one, then a free one.
    Raises as `open_network_socket`.
    """
    record = ensure_runtime_folder() / _WEB_PORT_FILE
    candidates = [port] if port is not None else [*_read_port(record), DEFAULT_WEB_PORT]
    for candidate in candidates:
        try:
            opened = open_network_socket(_WEB_HOST, candidate)
        except ServiceError:
            if port is not None:
                raise
        else:
            break
    else:
        opened = open_network_socket(_WEB_HOST, 0)
    write_private_file(record, str(opened.getsockname()[1]).encode())
    return opened


def _read_port(record: Path) -> list[int]:
    """Read the last port of the web interface; none if there is no record."""
    try:
        text = record.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return []
    return [int(text)] if text.isdecimal() and 0 < int(text) <= _MAX_PORT else []


def load_session_key() -> bytes:
    """Load the key of browser sessions, so that they survive a restart; create it at the first start.

    Raises:
        ServiceError: It cannot be read or written.
    """
    path = ensure_runtime_folder() / _SESSION_KEY_FILE
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    except OSError as error:
        raise ServiceError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(key) != KEY_BYTES:
        key = secrets.token_bytes(KEY_BYTES)
        write_private_file(path, key)
    return key
