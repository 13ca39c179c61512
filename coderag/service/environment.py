"""What of a process's environment decides on answers. Imports nothing slow."""

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_PREFIX: Final = "CODERAG_"
_SERVICE_PREFIX: Final = "CODERAG_SERVICE__"
_USER_FOLDERS: Final = (
    {"APPDATA": "AppData/Roaming", "LOCALAPPDATA": "AppData/Local"}
    if sys.platform == "win32"
    else {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache"}
)
"""Variables that name folders of the user, and what is meant in the home folder where they are not set."""


def compute_fingerprint() -> str:
    """Return what two processes have in common if they answer alike.

    It stands for the settings in the environment, but those of the service itself; for where the user's own files are,
    which say what is trusted, and where indexes may lie; and for the installation.
    """
    settings = {name: text for name, text in os.environ.items() if name.upper().startswith(_PREFIX)}
    entries = [
        f"{name}={text}" for name, text in sorted(settings.items()) if not name.upper().startswith(_SERVICE_PREFIX)
    ]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  # that of `pathlib` fails for a user without a home
    entries += [f"{name}={os.environ.get(name) or home / default}" for name, default in _USER_FOLDERS.items()]
    entries += [str(home), sys.prefix, str(Path(__file__).parents[1])]
    return hashlib.sha256("\0".join(entries).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def compute_digest(names: Iterable[str]) -> str:
    """Return what two processes have in common if these variables of their environments are the same."""
    entries = [f"{name}={os.environ[name]}" if name in os.environ else name for name in sorted(names)]
    return hashlib.sha256("\0".join(entries).encode("utf-8", "surrogateescape")).hexdigest()
