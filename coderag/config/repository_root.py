"""Search for the repository of the current folder. Imports nothing slow."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.errors import IngestionError

INDEX_FOLDER: Final = ".coderag"
"""Default folder of the index in a repository."""

_MAX_LINK_CHARS: Final = 10_000

ROOT_MARKERS: Final = (INDEX_FOLDER, ".coderag.yaml")


def find_root(explicit_root: Path | None, start: Path | None = None) -> Path:
    """Find the repository to work on.

    By default: the nearest folder upwards with ``.coderag`` or ``.coderag.yaml``, else the root of the git working
    tree, else the current folder. The home folder and file system roots are skipped, as settings there would claim
    everything below. Nothing above a linked worktree of git counts: its files are those of another branch.

    Args:
        explicit_root: Folder given by the user; returned unchanged.
        start: Folder to start from; by default the current one.
    """
    if explicit_root is not None:
        return explicit_root
    start = start or Path.cwd()
    above = (start, *start.parents)
    worktree = next((position for position, folder in enumerate(above) if _is_linked_worktree(folder)), len(above))
    candidates = [folder for folder in above[: worktree + 1] if not is_too_wide(folder)]
    marked = (folder for folder in candidates if any(_has_entry(folder, mark) for mark in ROOT_MARKERS))
    versioned = (folder for folder in candidates if _has_entry(folder, ".git"))
    return next(marked, None) or next(versioned, None) or start


def resolve_folder(path: Path) -> Path:
    """Resolve a directory to its real path.

    Raises:
        IngestionError: The directory does not exist or cannot be read.
    """
    try:
        folder = path.expanduser().resolve()
        with os.scandir(folder), suppress(FileNotFoundError):
            (folder / INDEX_FOLDER).lstat()  # a directory may be listable but not searchable
    except FileNotFoundError as error:
        raise IngestionError(f"{path}: no such directory", hint="Check the path.") from error
    except NotADirectoryError as error:
        raise IngestionError(f"{path}: not a directory", hint="Name the directory that holds the code.") from error
    except PermissionError as error:
        raise IngestionError(f"{path}: permission denied", hint="Make the directory readable for this user.") from error
    except (OSError, RuntimeError, ValueError) as error:  # a link loop, an unknown ~user, a NUL
        raise IngestionError(f"{path}: cannot be opened ({error})", hint="Check the path.") from error
    return folder


def is_too_wide(folder: Path) -> bool:
    """Return whether `folder` is the home folder or the root of a file system."""
    try:
        home = Path.home()
    except RuntimeError:  # no home folder
        home = None
    return folder in (home, folder.parent)


def _is_linked_worktree(folder: Path) -> bool:
    """Return whether a folder is a worktree whose repository is elsewhere; a submodule is none."""
    link = folder / ".git"
    try:
        return link.is_file() and Path(_read_git_directory(link)).parent.name == "worktrees"
    except (OSError, ValueError):  # reported later for the chosen folder
        return False


def _read_git_directory(link: Path) -> str:
    with link.open(encoding="utf-8", errors="replace") as file:
        return file.readline(_MAX_LINK_CHARS).partition("gitdir:")[2].strip()


def _has_entry(folder: Path, name: str) -> bool:
    try:
        return (folder / name).exists()
    except PermissionError:  # reported later for the chosen folder
        return False
