"""Start and stop of the background service."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from filelock import BaseFileLock, FileLock, Timeout

from coderag import __version__
from coderag.errors import CodeRAGError, ServiceError
from coderag.service.client import STOP_PATH, ServiceClient
from coderag.service.discovery import (
    ensure_runtime_folder,
    find_service,
    get_log_file,
    is_service_alive,
    read_address,
    remove_stale,
)
from coderag.service.environment import compute_fingerprint
from coderag.service.processes import is_alive
from coderag.service.service_address import ServiceAddress

BACKGROUND_OPTION: Final = "--as-background"
"""Marks the background process itself, as opposed to its launcher."""

_LOCK_FILE: Final = "service.lock"
_START_TIMEOUT_S: Final = 120.0
_STOP_TIMEOUT_S: Final = 45.0
_KILL_TIMEOUT_S: Final = 5.0
_SETTLE_TIMEOUT_S: Final = 1.0
_POLL_INTERVAL_S: Final = 0.05


def make_service_lock() -> BaseFileLock:
    """Make the lock that a service holds while it runs, so that there is only one.

    Raises:
        ServiceError: There is no runtime folder.
    """
    return FileLock(ensure_runtime_folder() / _LOCK_FILE, mode=0o600)


def start_in_background(options: Sequence[str] = ()) -> tuple[ServiceAddress, bool]:
    """Return a service that this process can use, and whether it had to be started.

    A service of another version is stopped first, gracefully.

    Args:
        options: Options of ``coderag serve``.

    Raises:
        ServiceError: It cannot be started, or a service with another environment is running.
    """
    if service := find_service():
        return service, False
    running = read_address()
    if running and is_service_alive(running):
        _refuse_other_environment(running)
        stop_service()
    log = get_log_file()
    log_offset = log.stat().st_size if log.exists() else 0
    return _wait_for_service(start_detached(options, log), log, log_offset), True


def _refuse_other_environment(running: ServiceAddress) -> None:
    if running.version == __version__ and running.environment != compute_fingerprint():
        raise ServiceError(
            f"a service of another environment or installation is already running (process {running.pid})",
            hint="Stop it with 'coderag serve --stop', or use its environment.",
        )


def start_detached(options: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a service as a detached process that outlives this one, without waiting for it.

    Args:
        options: Options of ``coderag serve``.
        log: File to append its output to.
    """
    process_options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        process_options = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            # -P prevents imports from the working directory.
            [sys.executable, "-P", "-m", "coderag", "serve", BACKGROUND_OPTION, *options],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd=log.parent,
            **process_options,
        )
    finally:
        os.close(descriptor)


def start_for_later() -> None:
    """Start a service for later commands if none is running, without waiting; failures are ignored."""
    running = read_address()
    if running and is_service_alive(running):
        return
    with suppress(OSError, ServiceError):
        child = start_detached((), get_log_file())
        child.returncode = 0  # suppresses Python's warning about an unawaited child


def _wait_for_service(child: "subprocess.Popen[bytes]", log: Path, log_offset: int) -> ServiceAddress:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        exit_code = child.poll()
        if service := find_service():
            child.returncode = 0  # suppresses Python's warning about an unawaited child
            return service
        if exit_code == 0:  # another service was faster and will reply soon
            deadline = min(deadline, time.monotonic() + _STOP_TIMEOUT_S)
        elif exit_code:
            raise ServiceError(f"the service failed to start: {_read_last_error(log, log_offset)}", hint=f"See {log}.")
        time.sleep(_POLL_INTERVAL_S)
    if child.poll() is None:
        child.terminate()
        child.wait()
    raise ServiceError(f"the service did not answer within {_START_TIMEOUT_S:.0f} s", hint=f"See {log}.")


def _read_last_error(log: Path, log_offset: int) -> str:
    """Read the last error line of the log after an offset, else its last line."""
    with log.open("rb") as file:
        file.seek(log_offset)
        lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    error_lines = [line for line in lines if line.startswith("error:")] or lines or ["no output"]
    return error_lines[-1].removeprefix("error:").strip()


def stop_service() -> ServiceAddress | None:
    """Stop the service of this user, of any version; return its address, or None if none was running.

    It may finish its requests for some seconds; a hanging service is killed and its files are removed.

    Raises:
        ServiceError: It cannot be stopped.
    """
    address, lock = read_address(), make_service_lock()
    try:
        with lock.acquire(timeout=0):
            remove_stale()
            return None
    except Timeout:
        pass
    if address is None:  # it is just starting or ending
        _wait_until_free(lock, _STOP_TIMEOUT_S)
        return None
    _ask_to_stop(address, lock)
    if not _wait_until_free(lock, _STOP_TIMEOUT_S):
        _send_signal(address, getattr(signal, "SIGKILL", signal.SIGTERM))
        if not _wait_until_free(lock, _KILL_TIMEOUT_S):
            raise ServiceError(f"the service (process {address.pid}) does not stop", hint="Kill the process.")
    return address


def _ask_to_stop(address: ServiceAddress, lock: BaseFileLock) -> None:
    if is_service_alive(address):
        with suppress(CodeRAGError):
            ServiceClient(address).call("POST", STOP_PATH)
            return
    # The lock holder may have just started and will replace the file of a killed service.
    if not _wait_until_free(lock, _SETTLE_TIMEOUT_S):
        _send_signal(address, signal.SIGTERM)


def _send_signal(address: ServiceAddress, number: int) -> None:
    """Send a signal to a service, unless its address file names another one: its process id may be reused."""
    if is_alive(address.pid) and read_address() in (address, None):
        with suppress(ProcessLookupError):
            os.kill(address.pid, number)


def _wait_until_free(lock: BaseFileLock, seconds: float) -> bool:
    """Return whether the service has ended in time; its files are removed then."""
    try:
        with lock.acquire(timeout=seconds, poll_interval=_POLL_INTERVAL_S):
            remove_stale()
            return True
    except Timeout:
        return False
