"""Encryption of stored secrets, and keys derived from one master key outside of the database."""

import base64
import secrets
import sys
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from coderag.errors import ConfigurationError
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

KEY_FILE_NAME: Final = "master.key"
_KEY_BYTES: Final = 32


class MasterKey:
    """The master key. What it seals can be opened only with it.

    Args:
        key: Secret bytes, `_KEY_BYTES` of them.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._fernet = Fernet(base64.urlsafe_b64encode(self.derive("seal")))

    def derive(self, purpose: str) -> bytes:
        """Derive a key of 32 bytes for a purpose; those of different purposes are independent."""
        return HKDF(SHA256(), _KEY_BYTES, salt=None, info=f"coderag:{purpose}".encode()).derive(self._key)

    def seal(self, secret: str) -> bytes:
        """Encrypt and authenticate a text."""
        return self._fernet.encrypt(secret.encode())

    def open(self, sealed: bytes) -> str:
        """Decrypt a text.

        Raises:
            ConfigurationError: It was sealed with another key.
        """
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken as error:
            message = "a stored secret cannot be decrypted: the master key is another one"
            raise ConfigurationError(message, hint="Restore the master key that belongs to this database.") from error


def create_master_key(path: Path) -> MasterKey:
    """Create the key in a new file that only this user can read.

    Raises:
        ConfigurationError: The file exists, or cannot be written.
    """
    key = secrets.token_bytes(_KEY_BYTES)
    if path.exists():
        raise ConfigurationError(f"{path}: exists already", hint="Keep it: stored secrets need it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, [base64.b64encode(key) + b"\n"], permissions=PRIVATE_MODE, is_durable=True)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}") from error
    return MasterKey(key)


def read_master_key(path: Path) -> MasterKey:
    """Read the key.

    Raises:
        ConfigurationError: The file is missing, is no key, or other users can read it.
    """
    try:
        if sys.platform != "win32" and path.stat().st_mode & 0o077:
            raise ConfigurationError(f"{path}: other users can read this key", hint=f"chmod 600 {path}")
        key = base64.b64decode(path.read_bytes().strip(), validate=True)
    except FileNotFoundError as error:
        raise ConfigurationError(f"{path}: no such file", hint="Run `coderag server init`.") from error
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: no key can be read: {error}", hint="Restore it from a backup.") from error
    if len(key) != _KEY_BYTES:
        raise ConfigurationError(f"{path}: does not hold a key of {_KEY_BYTES} bytes", hint="Restore it from a backup.")
    return MasterKey(key)
