"""Run files: each process of a server notes its address in the data folder, for commands on the same machine.

A process holds a lock beside its file. One that was killed holds none, so that its file is known to be stale.
"""

import json
import logging
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from coderag.system.atomic_write import atomic_write

_FOLDER_NAME: Final = "run"
_FILE_SUFFIX: Final = ".json"
_LOCK_SUFFIX: Final = ".lock"
_ID_BYTES: Final = 8
_PERMISSIONS: Final = 0o600
_LOOPBACKS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # nothing binds to it

_log = logging.getLogger(__name__)


def build_local_address(host: str, port: int, *, is_encrypted: bool) -> str:
    """Build the address of a server for programs on its machine.

    Args:
        host: Address that it listens on.
        port: Port that it listens on.
        is_encrypted: Whether it serves TLS itself.
    """
    host = _LOOPBACKS.get(host, host)
    return f"{'https' if is_encrypted else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


@contextmanager
def record_process(data: Path, address: str) -> Iterator[None]:
    """Note in a data folder that this process serves at an address, until the end of the block.

    A folder that cannot be written to keeps no server from starting; the log says so.

    Args:
        data: The data folder.
        address: As `build_local_address` returns it.
    """
    path = data / _FOLDER_NAME / f"{secrets.token_hex(_ID_BYTES)}{_FILE_SUFFIX}"
    lock = FileLock(path.with_suffix(_LOCK_SUFFIX), timeout=0, is_singleton=False, thread_local=False)
    content = {"address": address, "host": socket.gethostname(), "pid": os.getpid()}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
        atomic_write(path, [json.dumps(content).encode()], permissions=_PERMISSIONS, is_durable=False)
    except OSError as error:
        _log.warning("`coderag server status` will not find this process: %s", error)
    try:
        yield
    finally:
        _remove(path, lock)


def list_local_addresses(data: Path) -> list[str]:
    """List the addresses of the processes of this machine that serve a data folder; stale files are removed."""
    addresses = []
    for path in sorted((data / _FOLDER_NAME).glob(f"*{_FILE_SUFFIX}")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(path.read_bytes())
            if content["host"] != socket.gethostname():
                continue  # it may hold a lock that this machine does not see
            lock = FileLock(path.with_suffix(_LOCK_SUFFIX), timeout=0, is_singleton=False)
            try:
                lock.acquire()
            except Timeout:
                addresses.append(str(content["address"]))
            else:
                _remove(path, lock)
    return addresses


def _remove(path: Path, lock: FileLock) -> None:
    """Remove a run file, then its lock: a file without a lock file would count as stale, too."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        lock.release()
        path.with_suffix(_LOCK_SUFFIX).unlink(missing_ok=True)
