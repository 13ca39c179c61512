"""Secrets of keys, sessions and sign-ins. The database has only digests of them."""

import hashlib
import hmac
import secrets
from typing import Final

_SECRET_BYTES: Final = 32


def create_secret() -> str:
    """Create a secret of 256 random bits in letters, digits, ``-`` and ``_``."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def hash_secret(secret: str) -> str:
    """Return the digest of a secret.

    A fast hash will do: there is nothing to guess in 256 random bits, and every request computes one.
    """
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def matches_digest(secret: str, digest: str) -> bool:
    """Return whether a secret has a digest, in a time that does not depend on where they differ."""
    return hmac.compare_digest(hash_secret(secret).encode(), digest.encode())
