"""Starts the service in the background, and ends it."""

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
"""Says that a process is the background, and not who starts it."""

_LOCK_FILE: Final = "service.lock"
_START_TIMEOUT_S: Final = 120.0
_STOP_TIMEOUT_S: Final = 45.0
_KILL_TIMEOUT_S: Final = 5.0
_SETTLE_TIMEOUT_S: Final = 1.0
_POLL_INTERVAL_S: Final = 0.05


def make_service_lock() -> BaseFileLock:
    """Return the lock that a service holds as long as it lives: whoever has it is the only one.

    Raises:
        ServiceError: There is no runtime directory.
    """
    return FileLock(ensure_runtime_folder() / _LOCK_FILE, mode=0o600)


def start_in_background(options: Sequence[str] = ()) -> tuple[ServiceAddress, bool]:
    """Return the service that this process can use, started if there is none, and whether it was started.

    One of another version is asked to end first: what it is doing is finished.

    Args:
        options: Of ``coderag serve``.

    Raises:
        ServiceError: It cannot be started, or one runs that has other settings in its environment.
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
            f"a service runs already (process {running.pid}), of another environment or installation",
            hint="End it with 'coderag serve --stop', or use its environment.",
        )


def start_detached(options: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a service as a process that outlives this one and is tied to no terminal. It is not waited for.

    Args:
        options: Of ``coderag serve``.
        log: File that its output is appended to.
    """
    process_options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        process_options = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            # Without -P a module of the folder that it works in could be imported.
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
    """Start a service for the commands after this one, if none lives; nothing is waited for, and no failure is told."""
    running = read_address()
    if running and is_service_alive(running):
        return
    with suppress(OSError, ServiceError):
        child = start_detached((), get_log_file())
        child.returncode = 0  # it is not ours to wait for, and Python need not warn of that


def _wait_for_service(child: "subprocess.Popen[bytes]", log: Path, log_offset: int) -> ServiceAddress:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        exit_code = child.poll()
        if service := find_service():
            child.returncode = 0  # it goes on, and Python need not warn of that
            return service
        if exit_code == 0:  # another one was quicker, and answers soon
            deadline = min(deadline, time.monotonic() + _STOP_TIMEOUT_S)
        elif exit_code:
            raise ServiceError(f"the service ended at once: {_read_last_error(log, log_offset)}", hint=f"See {log}.")
        time.sleep(_POLL_INTERVAL_S)
    if child.poll() is None:
        child.terminate()
        child.wait()
    raise ServiceError(f"the service did not answer within {_START_TIMEOUT_S:.0f} s", hint=f"See {log}.")


def _read_last_error(log: Path, log_offset: int) -> str:
    """Return what the log says since it had a size: its last line about an error, else the last one."""
    with log.open("rb") as file:
        file.seek(log_offset)
        lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    error_lines = [line for line in lines if line.startswith("error:")] or lines or ["it said nothing"]
    return error_lines[-1].removeprefix("error:").strip()


def stop_service() -> ServiceAddress | None:
    """End the service of this user, of whatever version, and return where it was; None if none ran.

    It finishes what it does, for some seconds; one that hangs is killed. What a killed one has left is removed.

    Raises:
        ServiceError: It cannot be ended.
    """
    address, lock = read_address(), make_service_lock()
    try:
        with lock.acquire(timeout=0):
            remove_stale()
            return None
    except Timeout:
        pass
    if address is None:  # it starts, or ends, right now
        _wait_until_free(lock, _STOP_TIMEOUT_S)
        return None
    _ask_to_stop(address, lock)
    if not _wait_until_free(lock, _STOP_TIMEOUT_S):
        _send_signal(address, getattr(signal, "SIGKILL", signal.SIGTERM))
        if not _wait_until_free(lock, _KILL_TIMEOUT_S):
            raise ServiceError(f"the service (process {address.pid}) does not end", hint="End the process yourself.")
    return address


def _ask_to_stop(address: ServiceAddress, lock: BaseFileLock) -> None:
    if is_service_alive(address):
        with suppress(CodeRAGError):
            ServiceClient(address).call("POST", STOP_PATH)
            return
    # Whoever has the lock may have begun just now, and takes the file of a killed one away in a moment.
    if not _wait_until_free(lock, _SETTLE_TIMEOUT_S):
        _send_signal(address, signal.SIGTERM)


def _send_signal(address: ServiceAddress, number: int) -> None:
    """Send a signal to a service; its number may be another process's by now if the file does not name it any more."""
    if is_alive(address.pid) and read_address() in (address, None):
        with suppress(ProcessLookupError):
            os.kill(address.pid, number)


def _wait_until_free(lock: BaseFileLock, seconds: float) -> bool:
    """Whether the service has ended in time; what it left is removed."""
    try:
        with lock.acquire(timeout=seconds, poll_interval=_POLL_INTERVAL_S):
            remove_stale()
            return True
    except Timeout:
        return False
