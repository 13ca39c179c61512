"""Fingerprint of the environment that affects answers. Imports nothing slow."""

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
"""Environment variables of user folders, with their defaults in the home folder."""


def compute_fingerprint() -> str:
    """Compute a fingerprint that is equal for two processes with equal answers.

    It covers the settings in the environment, except those of the service itself; the user's folders, which hold trust
    marks and indexes; and the installation.
    """
    settings = {name: text for name, text in os.environ.items() if name.upper().startswith(_PREFIX)}
    entries = [
        f"{name}={text}" for name, text in sorted(settings.items()) if not name.upper().startswith(_SERVICE_PREFIX)
    ]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  # `Path.home` fails for a user without a home
    entries += [f"{name}={os.environ.get(name) or home / default}" for name, default in _USER_FOLDERS.items()]
    entries += [str(home), sys.prefix, str(Path(__file__).parents[1])]
    return hashlib.sha256("\0".join(entries).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def compute_digest(names: Iterable[str]) -> str:
    """Compute a digest of the values of environment variables."""
    entries = [f"{name}={os.environ[name]}" if name in os.environ else name for name in sorted(names)]
    return hashlib.sha256("\0".join(entries).encode("utf-8", "surrogateescape")).hexdigest()
