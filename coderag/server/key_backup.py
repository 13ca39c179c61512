"""A master key encrypted by a passphrase, so that a backup may hold it."""

import base64
import json
import secrets
import unicodedata
from typing import Final

from cryptography.exceptions import InvalidKey
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from coderag.errors import ConfigurationError

MIN_PASSPHRASE_CHARS: Final = 12

_SALT_BYTES: Final = 16
_KEY_BYTES: Final = 32
_COST: Final = 2**16
"""Cost of scrypt: 64 MiB of memory and a quarter of a second for each guess."""

_MAX_COST: Final = 2**20
_BLOCKS: Final = 8


def seal_key(content: bytes, passphrase: str) -> bytes:
    """Encrypt the content of a key file.

    Raises:
        ConfigurationError: The passphrase is too short.
    """
    if len(passphrase) < MIN_PASSPHRASE_CHARS:
        message = f"the passphrase has {len(passphrase)} characters, and needs {MIN_PASSPHRASE_CHARS} at least"
        raise ConfigurationError(message, hint="Give a longer one, or leave the key out of the backup.")
    salt = secrets.token_bytes(_SALT_BYTES)
    sealed = _derive(passphrase, salt, _COST).encrypt(content)
    values = {"kdf": "scrypt", "cost": _COST, "salt": base64.b64encode(salt).decode(), "sealed": sealed.decode()}
    return json.dumps(values).encode()


def open_key(sealed: bytes, passphrase: str) -> bytes:
    """Decrypt the content of a key file.

    Raises:
        ConfigurationError: The passphrase is another one, or the content is damaged.
    """
    try:
        values = json.loads(sealed)
        cost = int(values["cost"])
        if values["kdf"] != "scrypt" or not 1 < cost <= _MAX_COST:
            raise ValueError(values["kdf"])
        return _derive(passphrase, base64.b64decode(values["salt"]), cost).decrypt(values["sealed"])
    except (InvalidToken, InvalidKey) as error:
        raise ConfigurationError("the passphrase does not open the key of the backup", hint="Check it.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError("the key of the backup is damaged", hint="Take another copy.") from error


def _derive(passphrase: str, salt: bytes, cost: int) -> Fernet:
    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogateescape")
    key = Scrypt(salt, _KEY_BYTES, cost, _BLOCKS, 1).derive(secret)
    return Fernet(base64.urlsafe_b64encode(key))
