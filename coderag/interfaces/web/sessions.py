"""Sign-in of browsers: one-time codes, signed session cookies and CSRF tokens."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final

CSRF_HEADER: Final = "x-coderag-csrf"

SESSION_S: Final = 12 * 3600
"""Seconds until a browser has to sign in again."""

CODE_S: Final = 120
"""Seconds in which a one-time code can be used."""

KEY_BYTES: Final = 32

_MAX_CODES: Final = 64
_SIGNATURE_CHARS: Final = 64


@dataclass(frozen=True, slots=True)
class WebSession:
    """Session of a browser.

    Attributes:
        value: Value of its cookie: id, end in seconds since the epoch, and signature.
        csrf: Token that its writing requests need in the header `CSRF_HEADER`.
        expires_at: Seconds since the epoch.
    """

    value: str
    csrf: str
    expires_at: int


class WebSessions:
    """Issuer of one-time codes and session cookies. It belongs to one event loop.

    Cookies are signed, not stored: a browser stays signed in when the service restarts with the same key.

    Args:
        key: Secret key of `KEY_BYTES`; another one ends all sessions.
        clock: Seconds since the epoch.
    """

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock
        self._codes: dict[str, float] = {}  # end of validity by digest, oldest first

    def issue_code(self) -> str:
        """Issue a code that signs in one browser, within `CODE_S`."""
        code = secrets.token_urlsafe(24)
        while len(self._codes) >= _MAX_CODES:
            self._codes.pop(next(iter(self._codes)))
        self._codes[_hash_code(code)] = self._clock() + CODE_S
        return code

    def exchange_code(self, code: str) -> WebSession | None:
        """Use up a code and open a session; None if the code is unknown, used or too old."""
        expires_at = self._codes.pop(_hash_code(code), None)
        if expires_at is None or expires_at < self._clock():
            return None
        return self._sign(secrets.token_hex(16), int(self._clock()) + SESSION_S)

    def read_session(self, value: str) -> WebSession | None:
        """Return the session of a cookie's value; None if it is forged or over."""
        identifier, _, rest = value.partition(".")
        end, _, signature = rest.partition(".")
        if not (identifier.isalnum() and end.isdecimal() and end.isascii() and len(signature) == _SIGNATURE_CHARS):
            return None
        session = self._sign(identifier, int(end[:12]))
        is_signed = hmac.compare_digest(session.value.encode(), value.encode("utf-8", "replace"))
        return session if is_signed and session.expires_at > self._clock() else None

    def _sign(self, identifier: str, expires_at: int) -> WebSession:
        text = f"{identifier}.{expires_at}"
        return WebSession(f"{text}.{self._compute_mac('session', text)}", self._compute_mac("csrf", text), expires_at)

    def _compute_mac(self, purpose: str, text: str) -> str:
        return hmac.digest(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hex()


def build_cookie_name(port: int) -> str:
    """Build the name of the session cookie: browsers share cookies between the ports of a host."""
    return f"coderag_session_{port}"


def parse_cookie(header: str, name: str) -> str:
    """Return the value of a cookie in a ``Cookie`` header; empty without it."""
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _hash_code(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
