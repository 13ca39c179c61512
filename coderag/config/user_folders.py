"""Where this user's own files are, on every system: never in a repository."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from coderag.errors import ConfigurationError

_APP_NAME: Final = "coderag"


def find_config_folder() -> Path:
    """Return the folder of what the user has decided, such as which repositories are trusted; it may be missing.

    Raises:
        ConfigurationError: This user has no home.
    """
    from platformdirs import user_config_path  # noqa: PLC0415  # a command line that only prints help does without

    return _resolve_folder(lambda: user_config_path(_APP_NAME, appauthor=False))


def find_data_folder() -> Path:
    """Return the folder of what CodeRAG keeps for the user, such as the list of repositories; it may be missing.

    Raises as `config_folder`.
    """
    from platformdirs import user_data_path  # noqa: PLC0415  # as above

    return _resolve_folder(lambda: user_data_path(_APP_NAME, appauthor=False))


def find_cache_folder() -> Path:
    """Return the folder of what can be made again; it may be missing. Raises as `config_folder`."""
    from platformdirs import user_cache_path  # noqa: PLC0415  # as above

    return _resolve_folder(lambda: user_cache_path(_APP_NAME, appauthor=False))


def find_cache_base() -> Path:
    """Return the folder in which the programs of this user have what can be made again. Raises as `config_folder`."""
    from platformdirs import user_cache_path  # noqa: PLC0415  # as above

    return _resolve_folder(user_cache_path)


def _resolve_folder(look_up: Callable[[], Path]) -> Path:
    """Return a folder. A user without a home has none: it would be one below the current folder, a stranger's repository."""
    try:
        folder = look_up()
    except RuntimeError:  # so newer versions of platformdirs say it
        folder = Path()
    if not folder.is_absolute():
        hint = "Set HOME to a folder that only you may write to."
        raise ConfigurationError("this user has no home folder to keep files in", hint=hint)
    return folder
