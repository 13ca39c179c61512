"""Secret key that masks paths and people: from the settings, or from a file in the index directory."""

import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from coderag.config.sections import PrivacySettings
from coderag.errors import ConfigurationError
from coderag.stores.disk import create_index_directory, map_storage_errors
from coderag.system.atomic_write import create_private
from coderag.text.path_masking import PathMask

KEY_FILE: Final = "privacy.key"

_KEY_BYTES = 32
_MIN_KEY_CHARS = 16  # of a key from the settings
_SHARED_MODE_BITS = stat.S_IRWXG | stat.S_IRWXO


def load_path_mask(settings: PrivacySettings, index_directory: Path, *, make_key: bool = True) -> PathMask | None:
    """Load the mask of paths, or None if masking is off; a missing key is created.

    Args:
        settings: Section ``privacy``.
        index_directory: The index's directory.
        make_key: False for read-only callers; without a key they mask nothing.

    Raises:
        ConfigurationError: The key is invalid, or its file is readable by others.
        StoreError: The file cannot be read or created.
    """
    if not settings.obfuscate_paths:
        return None
    if not make_key and not settings.key.get_secret_value().strip() and not (index_directory / KEY_FILE).exists():
        return None
    return PathMask(load_privacy_key(settings, index_directory))


def load_privacy_key(settings: PrivacySettings, index_directory: Path) -> bytes:
    """Load the secret key of all masks; a missing one is created.

    Raises:
        ConfigurationError: The key is invalid, or its file is readable by others.
        StoreError: The file cannot be read or created.
    """
    configured_key = settings.key.get_secret_value().strip()
    if not configured_key:
        return _read_or_create_key(index_directory / KEY_FILE)
    if _is_hexadecimal_key(configured_key):
        return bytes.fromhex(configured_key)
    if len(configured_key) < _MIN_KEY_CHARS:
        message = f"privacy.key is shorter than {_MIN_KEY_CHARS} characters"
        raise ConfigurationError(message, hint=f"Set {2 * _KEY_BYTES} random hexadecimal digits, or remove it.")
    return configured_key.encode()


def _read_or_create_key(path: Path) -> bytes:
    with map_storage_errors(f"make {path}"):
        if not path.exists():
            create_index_directory(path.parent)
            create_private(path, secrets.token_bytes(_KEY_BYTES).hex().encode() + b"\n")
    with map_storage_errors(f"read {path}"), path.open(encoding="ascii", errors="replace") as file:
        mode = os.fstat(file.fileno()).st_mode
        content = file.read(4 * _KEY_BYTES).strip()
    if os.name == "posix" and mode & _SHARED_MODE_BITS:
        message = f"{path} is readable by others than its owner"
        raise ConfigurationError(message, hint=f"Run `chmod 600 {path}`, or delete it to create a new key.")
    if not _is_hexadecimal_key(content):
        hint = "Restore it, or delete it to create a new key; everything is then embedded again."
        raise ConfigurationError(f"{path} is damaged: it must hold {2 * _KEY_BYTES} hexadecimal digits", hint=hint)
    return bytes.fromhex(content)


def _is_hexadecimal_key(text: str) -> bool:
    return re.fullmatch(f"[0-9a-f]{{{2 * _KEY_BYTES}}}", text) is not None
