"""The private folder for files of a running service. Imports nothing slow."""

import os
import stat
import sys
from pathlib import Path
from typing import Final

from coderag.config.user_folders import find_cache_base
from coderag.errors import ConfigurationError, ServiceError
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

_FOLDER_NAME: Final = "coderag"
_HINT: Final = "Set XDG_RUNTIME_DIR to a folder that only you can enter."


def find_runtime_folder(*, create: bool) -> Path:
    """Find the folder, which belongs to this user and is closed to others.

    Args:
        create: Whether to create a missing folder; otherwise it may be missing.

    Raises:
        ServiceError: It cannot be created, or belongs to another user.
    """
    folder = _find_base() / _FOLDER_NAME
    try:
        if create:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except FileNotFoundError:
        return folder
    except OSError as error:
        message = f"{folder}: the service folder cannot be created: {error.strerror or error}"
        raise ServiceError(message, hint=_HINT) from error
    _check_access(folder, status)
    return folder


def _find_base() -> Path:
    """Find the system's folder for runtime files, else the user's cache.

    Agents often start servers without ``XDG_RUNTIME_DIR``, so its usual location is checked, too.
    """
    if sys.platform.startswith("linux"):
        configured = os.environ.get("XDG_RUNTIME_DIR", "")
        for base in (Path(configured), Path(f"/run/user/{os.getuid()}")):
            if base.is_absolute() and _is_own(base):
                return base
    try:
        cache = find_cache_base()
    except ConfigurationError as error:
        raise ServiceError("this user has no home folder for files of the service", hint=_HINT) from error
    return cache / "run" if sys.platform != "win32" else cache


def _is_own(folder: Path) -> bool:
    try:
        status = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and os.access(folder, os.W_OK | os.X_OK)


def _check_access(folder: Path, status: os.stat_result) -> None:
    if sys.platform == "win32":  # user folders are private on Windows
        return
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise ServiceError(f"{folder}: does not belong to this user, so the service cannot use it", hint=_HINT)
    if stat.S_IMODE(status.st_mode) & 0o077:
        try:
            folder.chmod(0o700)
        except OSError as error:
            message = f"{folder}: other users can enter it, and its permissions cannot be changed"
            raise ServiceError(message, hint=_HINT) from error


def write_private_file(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by this user only.

    Raises:
        ServiceError: It cannot be written.
    """
    try:
        atomic_write(path, [content], permissions=PRIVATE_MODE, is_durable=False)
    except OSError as error:
        raise ServiceError(f"{path}: cannot be written: {error.strerror or error}", hint=_HINT) from error
