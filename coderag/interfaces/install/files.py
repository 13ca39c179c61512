"""Safe replacement of foreign configuration files: links resolved, permissions kept, writes atomic."""

import errno
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.errors import ConfigurationError
from coderag.system.atomic_write import atomic_write

_MANUAL_HINT: Final = "add the entry by hand: --print shows it"
_DENIED_ERRNOS: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_MAX_FILE_BYTES: Final = 64_000_000
_WRITE_BITS: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file as it was read.

    Attributes:
        path: Path that the agent uses.
        real_path: Path with all links resolved.
        content: Bytes of the file; None if it does not exist.
        mode: Permissions; None if it does not exist.
    """

    path: Path
    real_path: Path
    content: bytes | None
    mode: int | None


def read_config_file(path: Path, within: Path | None = None) -> ConfigFile:
    """Read the configuration file at a path.

    Args:
        path: The file.
        within: Folder that must contain the resolved path, as for files of an untrusted repository.

    Raises:
        ConfigurationError: It is not a regular file that may be written.
    """
    try:
        real_path = path.resolve()
        if within is not None and not real_path.is_relative_to(within.resolve()):
            message = f"{path} points outside the project, to {real_path}"
            raise ConfigurationError(message, hint="Replace the link by a regular file.")
        if path.is_symlink() and not real_path.exists():
            raise ConfigurationError(f"{path} is a broken link to {real_path}", hint="Repair the link.")
        return _read_regular_file(path, real_path)
    except (OSError, RuntimeError) as error:  # RuntimeError: link loop
        raise ConfigurationError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _read_regular_file(path: Path, real_path: Path) -> ConfigFile:
    try:
        status = real_path.stat()
    except FileNotFoundError:
        return ConfigFile(path, real_path, None, None)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError(f"{path} is not a regular file")
    with real_path.open("rb") as file:
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise ConfigurationError(f"{path} is larger than {_MAX_FILE_BYTES:,} bytes")
    return ConfigFile(path, real_path, content, stat.S_IMODE(status.st_mode))


def decode_text(file: ConfigFile) -> str:
    """Decode a file as UTF-8, line ends included; empty if it does not exist.

    Raises:
        ConfigurationError: It is not UTF-8.
    """
    try:
        return (file.content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        line = (file.content or b"").count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{file.path}, line {line}: not UTF-8 text") from error


def find_missing_folders(file: ConfigFile) -> tuple[Path, ...]:
    """Return the folders to create for a file, outermost first."""
    folder = file.real_path.parent
    return tuple(candidate for candidate in (folder, *folder.parents) if not candidate.exists())[::-1]


def remove_folders(folders: Sequence[Path]) -> None:
    """Remove folders created for a file (given outermost first) as far as they are empty."""
    with suppress(OSError):
        for folder in reversed(folders):
            folder.rmdir()


def check_writable(file: ConfigFile) -> None:
    """Check that a file may be replaced.

    Raises:
        ConfigurationError: It is read-only.
    """
    if file.mode is not None and not file.mode & _WRITE_BITS:
        raise ConfigurationError(f"{file.path} is read-only", hint=f"Make it writable, or {_MANUAL_HINT}.")


def replace_file(file: ConfigFile, content: bytes | None) -> None:
    """Replace a file atomically, or delete it if content is None.

    Raises:
        ConfigurationError: It is read-only, changed since it was read, or cannot be written.
    """
    check_writable(file)
    if read_config_file(file.path).content != file.content:
        raise ConfigurationError(f"{file.path} was changed meanwhile and is left unchanged", hint="Run it again.")
    try:
        if content is None:
            file.real_path.unlink(missing_ok=True)
            return
        file.real_path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file.real_path, [content], permissions=file.mode)
    except OSError as error:
        hint = f"Make it writable, or {_MANUAL_HINT}." if error.errno in _DENIED_ERRNOS else ""
        raise ConfigurationError(f"{file.path} cannot be written: {error.strerror or error}", hint=hint) from error
