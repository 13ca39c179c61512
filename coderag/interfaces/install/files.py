"""Read and replace files that belong to others: links are followed as far as is safe, permissions stay, nothing is half."""

import errno
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.errors import ConfigurationError
from coderag.system.atomic_write import atomic_write

_BY_HAND: Final = "add the entry by hand: --print shows it"
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_LARGEST: Final = 64_000_000
_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Place:
    """A file that may be written.

    Attributes:
        path: As the agent calls it.
        target: Where it is, behind all links.
        content: What is in it; None if there is no file.
        mode: Its permissions; None if there is no file.
    """

    path: Path
    target: Path
    content: bytes | None
    mode: int | None


def look(path: Path, within: Path | None = None) -> Place:
    """Return what is at a path.

    Args:
        path: The file.
        within: The folder that it must be in behind all links, as for a file in a repository of a stranger.

    Raises:
        ConfigurationError: It is no file that may be written.
    """
    try:
        target = path.resolve()
        if within is not None and not target.is_relative_to(within.resolve()):
            message = f"{path} leads out of the project, to {target}"
            raise ConfigurationError(message, hint="Make it a file of its own.")
        if path.is_symlink() and not target.exists():
            raise ConfigurationError(f"{path} is a link to {target}, which is not there", hint="Mend the link.")
        return _look(path, target)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise ConfigurationError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _look(path: Path, target: Path) -> Place:
    try:
        status = target.stat()
    except FileNotFoundError:
        return Place(path, target, None, None)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError(f"{path} is no file")
    with target.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ConfigurationError(f"{path} is larger than a configuration may be, {_LARGEST:,} bytes")
    return Place(path, target, content, stat.S_IMODE(status.st_mode))


def text_of(place: Place) -> str:
    """Return the text of a file, line ends and all; empty if there is none.

    Raises:
        ConfigurationError: It is no UTF-8.
    """
    try:
        return (place.content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        line = (place.content or b"").count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{place.path}, line {line}: not UTF-8 text") from error


def missing_folders(place: Place) -> tuple[Path, ...]:
    """Return the folders that have to be made for a file, the outermost first."""
    folder = place.target.parent
    return tuple(one for one in (folder, *folder.parents) if not one.exists())[::-1]


def remove_folders(folders: Sequence[Path]) -> None:
    """Remove folders that were made for a file, the outermost first, if nothing else is in them by now."""
    with suppress(OSError):
        for folder in reversed(folders):
            folder.rmdir()


def check_writable(place: Place) -> None:
    """Make sure that a file may be replaced.

    Raises:
        ConfigurationError: It is read-only.
    """
    if place.mode is not None and not place.mode & _WRITABLE:
        raise ConfigurationError(f"{place.path} is read-only", hint=f"Make it writable, or {_BY_HAND}.")


def replace(place: Place, content: bytes | None) -> None:
    """Write a file at once, or delete it for None.

    Raises:
        ConfigurationError: It is read-only, was changed since it was looked at, or cannot be written.
    """
    check_writable(place)
    if look(place.path).content != place.content:
        raise ConfigurationError(f"{place.path} was changed meanwhile, and is left as it is", hint="Run it again.")
    try:
        if content is None:
            place.target.unlink(missing_ok=True)
            return
        place.target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(place.target, [content], permissions=place.mode)
    except OSError as error:
        hint = f"Make it writable, or {_BY_HAND}." if error.errno in _DENIED else ""
        raise ConfigurationError(f"{place.path} cannot be written: {error.strerror or error}", hint=hint) from error
