"""Trust marks of repositories in the user's configuration folder, never in a repository (docs/trust.md)."""

import json
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from coderag.config.repository_root import is_too_wide, resolve_folder
from coderag.config.user_folders import find_config_folder
from coderag.errors import ConfigurationError
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

_VERSION: Final = 1
_MAX_BYTES: Final = 10_000_000  # bytes; several hundred thousand folders
_LOCK_S: Final = 10.0
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH

_logger = logging.getLogger(__name__)


def find_trust_file() -> Path:
    """Find the file of trust marks; it may not exist yet."""
    return find_config_folder() / "trusted.json"


def read_trusted_folders() -> list[Path]:
    """Read the trusted folders, sorted. An invalid or foreign file is ignored with a warning."""
    path = find_trust_file()
    try:
        return _read_marks(path)
    except FileNotFoundError:
        return []
    except PermissionError as error:  # such as another user's home
        _logger.info("%s cannot be read: %s", path, error)
        return []
    except (OSError, ValueError) as error:
        _logger.warning("%s is ignored, so no repository is trusted: %s", path, error)
        return []


def is_trusted(root: Path) -> bool:
    """Return whether a folder or one of its parents is marked as trusted; links are followed first."""
    folders = read_trusted_folders()
    return bool(folders) and _find_ancestor(_resolve(root), folders) is not None


def find_trusted_ancestor(root: Path) -> Path | None:
    """Find the marked folder that covers a folder; None if there is none."""
    return _find_ancestor(_resolve(root), read_trusted_folders())


def trust(root: Path) -> bool:
    """Mark a folder and everything below it as trusted; return whether the mark is new.

    Raises:
        IngestionError: The folder does not exist.
        ConfigurationError: It is the home folder or a file system root, or the mark cannot be written.
    """
    folder = resolve_folder(root)
    if is_too_wide(folder):
        message = f"{folder} is too wide to be trusted: everything below it would be trusted, too"
        raise ConfigurationError(message, hint="Trust single repositories, or a folder that holds only your own.")
    return _change(lambda folders: folders | {folder})


def revoke_trust(root: Path) -> bool:
    """Remove the mark of a folder; return whether it had one. A marked parent still covers it."""
    folder = _resolve(root)
    return _change(lambda folders: folders - {folder})


def _resolve(root: Path) -> Path:
    try:
        return root.expanduser().resolve()
    except (OSError, RuntimeError):  # a link loop, or no home
        return root.absolute()


def _find_ancestor(folder: Path, folders: list[Path]) -> Path | None:
    marked = set(folders)
    return next((ancestor for ancestor in (folder, *folder.parents) if ancestor in marked), None)


def _read_marks(path: Path) -> list[Path]:
    """Read the marked folders.

    Raises:
        ValueError: The file is damaged, or another user may have written it.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        if os.name == "posix":
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & _WRITABLE_BY_OTHERS:
                raise ValueError("it belongs to another user, or others can write it")
        text = file.read(_MAX_BYTES + 1)
    content = json.loads(text) if len(text) <= _MAX_BYTES else None
    folders = content.get("folders") if isinstance(content, dict) and content.get("version") == _VERSION else None
    if not isinstance(folders, list) or not all(
        isinstance(entry, str) and Path(entry).is_absolute() for entry in folders
    ):
        raise ValueError("it is damaged")
    return sorted(map(Path, folders))


def _change(change: Callable[[set[Path]], set[Path]]) -> bool:
    """Replace the marks by the result of `change`; return whether they differ."""
    path = find_trust_file()
    try:
        with _lock_file(path):
            before = set(_load_marks(path))
            after = change(before)
            if after != before:
                _write_marks(path, after)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error
    return after != before


def _load_marks(path: Path) -> list[Path]:
    """Load the marks to change; an invalid file is renamed as a backup."""
    try:
        return _read_marks(path)
    except FileNotFoundError:
        return []
    except ValueError as error:
        backup = path.with_suffix(".broken.json")
        _logger.warning("%s is put aside as %s: %s", path, backup.name, error)
        path.replace(backup)
        return []


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    import filelock  # noqa: PLC0415  # takes 0.07 s; only changes need it

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with filelock.FileLock(path.with_suffix(".lock"), timeout=_LOCK_S):
            yield
    except filelock.Timeout as error:
        raise ConfigurationError(f"{path} is being changed by another process", hint="Try again.") from error


def _write_marks(path: Path, folders: set[Path]) -> None:
    """Replace the file atomically, readable by this user only."""
    content = json.dumps({"version": _VERSION, "folders": sorted(map(str, folders))}, indent=2) + "\n"
    atomic_write(path, [content.encode()], permissions=PRIVATE_MODE)
