"""Which repository is meant where none is named: that of the folder one stands in. Imports nothing slow."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.errors import IngestionError

INDEX_FOLDER: Final = ".coderag"
"""What the index of a repository lies in, if nothing else is set."""

ROOT_MARKERS: Final = (INDEX_FOLDER, ".coderag.yaml")


def find_root(explicit_root: Path | None, start: Path | None = None) -> Path:
    """Return the repository to work on.

    Without one given: the nearest folder from the current one upwards with ``.coderag`` or ``.coderag.yaml``, else the
    root of the git working tree, else the current folder. The home folder and the file system's root are passed over:
    settings that lie there for other reasons would claim everything below.

    Args:
        given: What the user named; it is taken as it is.
        here: The folder to start from; by default the current one.
    """
    if explicit_root is not None:
        return explicit_root
    start = start or Path.cwd()
    candidates = [folder for folder in (start, *start.parents) if not is_too_wide(folder)]
    marked = (folder for folder in candidates if any(_has_entry(folder, mark) for mark in ROOT_MARKERS))
    versioned = (folder for folder in candidates if _has_entry(folder, ".git"))
    return next(marked, None) or next(versioned, None) or start


def resolve_folder(path: Path) -> Path:
    """Return the real path of a directory.

    Raises:
        IngestionError: There is no such directory, or it cannot be read.
    """
    try:
        folder = path.expanduser().resolve()
        with os.scandir(folder), suppress(FileNotFoundError):
            (folder / INDEX_FOLDER).lstat()  # names may be listed where they may not be looked up
    except FileNotFoundError as error:
        raise IngestionError(f"{path}: no such directory", hint="Check the path.") from error
    except NotADirectoryError as error:
        raise IngestionError(f"{path}: not a directory", hint="Name the directory that holds the code.") from error
    except PermissionError as error:
        raise IngestionError(f"{path}: permission denied", hint="Make the directory readable for this user.") from error
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, an unknown ~user, a NUL
        raise IngestionError(f"{path}: cannot be opened ({error})", hint="Check the path.") from error
    return folder


def is_too_wide(folder: Path) -> bool:
    """Whether `folder` is the home folder or the root of a file system."""
    try:
        home = Path.home()
    except RuntimeError:  # no home can be determined
        home = None
    return folder in (home, folder.parent)


def _has_entry(folder: Path, name: str) -> bool:
    try:
        return (folder / name).exists()
    except PermissionError:  # said later, of the folder that is chosen
        return False
