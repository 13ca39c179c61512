"""Where the warm service of this user is: a file in the runtime directory that names its addresses and its token."""

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from coderag import __version__
from coderag.errors import ServiceError
from coderag.service.environment import compute_fingerprint
from coderag.service.processes import is_alive
from coderag.service.runtime_folder import find_runtime_folder, write_private_file
from coderag.service.service_address import ServiceAddress

SHORT_PREFIX: Final = "coderag-"
"""Begins the name of a folder of sockets whose paths would be too long in the runtime directory."""


_ADDRESS_FILE: Final = "service.json"


_LOG_FILE: Final = "service.log"


def ensure_runtime_folder() -> Path:
    """Return the folder of the file, of the sockets and of the log, which only this user may enter; it is made if missing.

    Raises:
        ServiceError: It cannot be made, or it belongs to somebody else.
    """
    return find_runtime_folder(create=True)


def get_log_file() -> Path:
    """Return where a service in the background says what it does. Raises as `ensure_runtime_folder`."""
    return ensure_runtime_folder() / _LOG_FILE


def find_service() -> ServiceAddress | None:
    """Return the service that this process can use: one that runs, of this version and environment; else None."""
    address = read_address()
    if address is None or address.version != __version__ or address.environment != compute_fingerprint():
        return None
    return address if is_service_alive(address) else None


def is_service_alive(address: ServiceAddress) -> bool:
    """Whether a service lives at the address, and is the one that has its token."""
    from coderag.service.client import is_authentic  # noqa: PLC0415  # not needed where there is no file

    return is_alive(address.pid) and is_authentic(address)


def read_address() -> ServiceAddress | None:
    """Return what the file says, also of a service that is gone or of another version; None without a usable file."""
    try:
        record = json.loads((find_runtime_folder(create=False) / _ADDRESS_FILE).read_bytes())
    except (OSError, ValueError, ServiceError):
        return None
    return _parse_address(record) if isinstance(record, dict) else None


def _parse_address(record: dict[str, Any]) -> ServiceAddress | None:
    values = {field.name: record[field.name] for field in fields(ServiceAddress) if field.name in record}
    types: dict[str, Any] = {"pid": int, "request_s": (int, float)}
    if any(isinstance(value, bool) or not isinstance(value, types.get(name, str)) for name, value in values.items()):
        return None
    try:
        return ServiceAddress(**values)
    except TypeError:  # what every version writes is missing
        return None


def write_address(address: ServiceAddress) -> None:
    """Make a service known to the commands of this user.

    Raises:
        ServiceError: The file cannot be written.
    """
    write_private_file(ensure_runtime_folder() / _ADDRESS_FILE, json.dumps(asdict(address), indent=2).encode())


def remove_address(pid: int) -> None:
    """Remove the file if it is about a process; that of another one stays."""
    address = read_address()
    if address is not None and address.pid == pid:
        (find_runtime_folder(create=False) / _ADDRESS_FILE).unlink(missing_ok=True)


def remove_stale() -> None:
    """Remove what a killed service has left. Only who holds the start lock may do so.

    Raises:
        ServiceError: There is no runtime directory.
    """
    address = read_address()
    folder = ensure_runtime_folder()
    for endpoint in (address.http, address.mcp) if address else ():
        if endpoint.startswith("unix:"):
            remove_socket(Path(endpoint.removeprefix("unix:")))
    (folder / _ADDRESS_FILE).unlink(missing_ok=True)


def remove_socket(path: Path) -> None:
    """Remove a Unix socket of a service, and the folder if it was made only for it."""
    if not path.is_socket():
        return
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(SHORT_PREFIX) and not os.listdir(path.parent):  # noqa: PTH208  # no need of paths
        path.parent.rmdir()
