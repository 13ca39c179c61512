"""Where the warm service of this user is: a file in the runtime directory that names its addresses and its token."""

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from coderag import __version__
from coderag.errors import ServiceError
from coderag.service.environment import fingerprint
from coderag.service.processes import is_alive
from coderag.service.runtime_folder import runtime_folder, write_private
from coderag.service.service_address import ServiceAddress

SHORT_PREFIX: Final = "coderag-"
"""Begins the name of a folder of sockets whose paths would be too long in the runtime directory."""


_FILE: Final = "service.json"


_LOG_FILE: Final = "service.log"


def runtime_directory() -> Path:
    """Return the folder of the file, of the sockets and of the log, which only this user may enter; it is made if missing.

    Raises:
        ServiceError: It cannot be made, or it belongs to somebody else.
    """
    return runtime_folder(make=True)


def log_file() -> Path:
    """Return where a service in the background says what it does. Raises as `runtime_directory`."""
    return runtime_directory() / _LOG_FILE


def find_service() -> ServiceAddress | None:
    """Return the service that this process can use: one that runs, of this version and environment; else None."""
    address = read_address()
    if address is None or address.version != __version__ or address.environment != fingerprint():
        return None
    return address if answers(address) else None


def answers(address: ServiceAddress) -> bool:
    """Whether a service lives at the address, and is the one that has its token."""
    from coderag.service.client import proves_itself  # noqa: PLC0415  # not needed where there is no file

    return is_alive(address.pid) and proves_itself(address)


def read_address() -> ServiceAddress | None:
    """Return what the file says, also of a service that is gone or of another version; None without a usable file."""
    try:
        record = json.loads((runtime_folder(make=False) / _FILE).read_bytes())
    except (OSError, ValueError, ServiceError):
        return None
    return _address(record) if isinstance(record, dict) else None


def _address(record: dict[str, Any]) -> ServiceAddress | None:
    known = {field.name: record[field.name] for field in fields(ServiceAddress) if field.name in record}
    kinds: dict[str, Any] = {"pid": int, "request_s": (int, float)}
    if any(isinstance(value, bool) or not isinstance(value, kinds.get(name, str)) for name, value in known.items()):
        return None
    try:
        return ServiceAddress(**known)
    except TypeError:  # what every version writes is missing
        return None


def write_address(address: ServiceAddress) -> None:
    """Make a service known to the commands of this user.

    Raises:
        ServiceError: The file cannot be written.
    """
    write_private(runtime_directory() / _FILE, json.dumps(asdict(address), indent=2).encode())


def remove_address(pid: int) -> None:
    """Remove the file if it is about a process; that of another one stays."""
    address = read_address()
    if address is not None and address.pid == pid:
        (runtime_folder(make=False) / _FILE).unlink(missing_ok=True)


def remove_stale() -> None:
    """Remove what a killed service has left. Only who holds the start lock may do so.

    Raises:
        ServiceError: There is no runtime directory.
    """
    address = read_address()
    folder = runtime_directory()
    for place in (address.http, address.mcp) if address else ():
        if place.startswith("unix:"):
            remove_socket(Path(place.removeprefix("unix:")))
    (folder / _FILE).unlink(missing_ok=True)


def remove_socket(path: Path) -> None:
    """Remove a Unix socket of a service, and the folder if it was made only for it."""
    if not path.is_socket():
        return
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(SHORT_PREFIX) and not os.listdir(path.parent):  # noqa: PTH208  # no need of paths
        path.parent.rmdir()
