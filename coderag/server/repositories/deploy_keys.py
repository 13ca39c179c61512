"""Private keys of credentials: checks when they are added, and their public halves."""

import base64
import hashlib
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from coderag.errors import InvalidValueError

_MIN_RSA_BITS: Final = 2_048
_MAX_KEY_CHARS: Final = 32_768


def describe_deploy_key(text: str) -> dict[str, str]:
    """Check a private key for SSH; return its public key and fingerprint.

    Raises:
        InvalidValueError: It is no private key, is weak, or needs a passphrase.
    """
    key = _load(text)
    if not isinstance(key, ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise InvalidValueError("the deploy key has a kind that is not accepted", hint="Use an Ed25519 or RSA key.")
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    digest = hashlib.sha256(base64.b64decode(public.split()[1])).digest()
    return {"public_key": public, "fingerprint": "SHA256:" + base64.b64encode(digest).decode().rstrip("=")}


def check_app_key(text: str) -> None:
    """Check the private key of a GitHub App.

    Raises:
        InvalidValueError: It is no RSA key.
    """
    if not isinstance(_load(text), rsa.RSAPrivateKey):
        raise InvalidValueError("the key of a GitHub App must be an RSA key", hint="Paste the .pem file of the app.")


def _load(text: str) -> object:
    hint = "Paste the whole private key, from BEGIN to END, without a passphrase."
    if len(text) > _MAX_KEY_CHARS:
        raise InvalidValueError("the private key is too long", hint=hint)
    load = load_ssh_private_key if "OPENSSH PRIVATE KEY" in text else load_pem_private_key
    try:
        key = load(text.encode(), password=None)
    except TypeError:
        raise InvalidValueError("the private key needs a passphrase", hint=hint) from None
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidValueError("the private key cannot be read", hint=hint) from None  # its text stays out of logs
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < _MIN_RSA_BITS:
        raise InvalidValueError(f"the RSA key has {key.key_size} bits", hint=f"Use at least {_MIN_RSA_BITS} bits.")
    return key
