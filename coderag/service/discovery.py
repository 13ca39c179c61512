"""Discovery of this user's service by an address file in the runtime folder."""

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
"""Name prefix of a socket folder that is used if paths in the runtime folder are too long."""


_ADDRESS_FILE: Final = "service.json"


_LOG_FILE: Final = "service.log"


def ensure_runtime_folder() -> Path:
    """Return the private folder of address file, sockets and log; create it if missing.

    Raises:
        ServiceError: It cannot be created, or belongs to another user.
    """
    return find_runtime_folder(create=True)


def get_log_file() -> Path:
    """Return the log file of a background service. Raises as `ensure_runtime_folder`."""
    return ensure_runtime_folder() / _LOG_FILE


def find_service() -> ServiceAddress | None:
    """Find a running service of this version and environment; None if there is none."""
    address = read_address()
    if address is None or address.version != __version__ or address.environment != compute_fingerprint():
        return None
    return address if is_service_alive(address) else None


def is_service_alive(address: ServiceAddress) -> bool:
    """Return whether the service at an address is running and has the token."""
    from coderag.service.client import is_authentic  # noqa: PLC0415  # not needed without an address file

    return is_alive(address.pid) and is_authentic(address)


def read_address() -> ServiceAddress | None:
    """Read the address file, also of a dead or different service; None without a valid file."""
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
    except TypeError:  # a required field is missing
        return None


def write_address(address: ServiceAddress) -> None:
    """Publish the address of a service for the commands of this user.

    Raises:
        ServiceError: The file cannot be written.
    """
    write_private_file(ensure_runtime_folder() / _ADDRESS_FILE, json.dumps(asdict(address), indent=2).encode())


def remove_address(pid: int) -> None:
    """Remove the address file if it belongs to a process."""
    address = read_address()
    if address is not None and address.pid == pid:
        (find_runtime_folder(create=False) / _ADDRESS_FILE).unlink(missing_ok=True)


def remove_stale() -> None:
    """Remove the files of a killed service. The caller must hold the service lock.

    Raises:
        ServiceError: There is no runtime folder.
    """
    address = read_address()
    folder = ensure_runtime_folder()
    for endpoint in (address.http, address.mcp) if address else ():
        if endpoint.startswith("unix:"):
            remove_socket(Path(endpoint.removeprefix("unix:")))
    (folder / _ADDRESS_FILE).unlink(missing_ok=True)


def remove_socket(path: Path) -> None:
    """Remove a Unix socket of a service, and its folder if it was created only for the socket."""
    if not path.is_socket():
        return
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(SHORT_PREFIX) and not os.listdir(path.parent):  # noqa: PTH208  # names suffice
        path.parent.rmdir()
