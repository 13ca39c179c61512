"""Checks of paths that a user, an agent or a program gave: no name is an error. Imports nothing slow."""

from pathlib import Path


def is_existing_file(path: Path) -> bool:
    """Return whether a path is a file; False for a name that no file can have, and where access is denied."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long; with a NUL
        return False


def is_existing_folder(path: Path) -> bool:
    """Return whether a path is a folder; False for a name that no folder can have, and where access is denied."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # as above
        return False
