"""Folders of the user's own files on every system, never in a repository."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from coderag.errors import ConfigurationError

_APP_NAME: Final = "coderag"


def find_config_folder() -> Path:
    """Find the folder of the user's decisions, such as trust marks; it may be missing.

    Raises:
        ConfigurationError: The user has no home folder.
    """
    from platformdirs import user_config_path  # noqa: PLC0415  # not needed to print help

    return _resolve_folder(lambda: user_config_path(_APP_NAME, appauthor=False))


def find_data_folder() -> Path:
    """Find the folder of CodeRAG's data for the user, such as the registry; it may be missing.

    Raises as `find_config_folder`.
    """
    from platformdirs import user_data_path  # noqa: PLC0415  # as above

    return _resolve_folder(lambda: user_data_path(_APP_NAME, appauthor=False))


def find_cache_folder() -> Path:
    """Find the folder of CodeRAG's cache; it may be missing. Raises as `find_config_folder`."""
    from platformdirs import user_cache_path  # noqa: PLC0415  # as above

    return _resolve_folder(lambda: user_cache_path(_APP_NAME, appauthor=False))


def find_cache_base() -> Path:
    """Find the folder of all caches of this user. Raises as `find_config_folder`."""
    from platformdirs import user_cache_path  # noqa: PLC0415  # as above

    return _resolve_folder(user_cache_path)


def _resolve_folder(look_up: Callable[[], Path]) -> Path:
    """Return a folder. Without a home it would be relative to the current folder, possibly a stranger's repository."""
    try:
        folder = look_up()
    except RuntimeError:  # raised by newer versions of platformdirs
        folder = Path()
    if not folder.is_absolute():
        hint = "Set HOME to a folder that only you may write to."
        raise ConfigurationError("this user has no home folder to keep files in", hint=hint)
    return folder
