"""Sessions of browsers."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from coderag.errors import AuthenticationError, PermissionDeniedError
from coderag.server.access.principal import Principal
from coderag.server.identity.keys import KeyService
from coderag.server.identity.principals import PrincipalLoader, check_active
from coderag.server.identity.secret_texts import create_secret, hash_secret
from coderag.server.settings import SessionSettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import BrowserSession, User

MAX_SESSIONS: Final = 50
"""Maximum sessions of one account; another one ends the oldest."""

ROTATION: Final = timedelta(minutes=15)
"""Time after which a cookie is replaced."""

GRACE: Final = timedelta(minutes=1)
"""Time in which the previous cookie is accepted: requests that were under way carry it."""

_MAX_COOKIE_CHARS: Final = 256
_MAX_ADDRESS_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new session.

    Attributes:
        cookie: Value of its cookie.
        csrf: Token that its writing requests need.
        expires_at: Time at which it ends.
        max_age_s: Seconds until then, for its cookie.
        caller: Its principal.
    """

    cookie: str = field(repr=False)
    csrf: str = field(repr=False)
    expires_at: datetime
    max_age_s: int
    caller: Principal


@dataclass(frozen=True, slots=True)
class AuthenticatedSession:
    """Session of a request.

    Attributes:
        caller: Its principal.
        csrf: Token that its writing requests need.
        expires_at: Time at which it ends.
        max_age_s: Seconds until then, for its cookie.
        needs_rotation: Whether it is time for `SessionService.rotate`.
    """

    caller: Principal
    csrf: str = field(repr=False)
    expires_at: datetime
    max_age_s: int
    needs_rotation: bool


class SessionService:
    """Sessions of browsers. Shared by threads and processes.

    A cookie has three parts: the seed of the CSRF token, the id of the key that signed in, and a secret that is replaced
    now and then. The database has the digest of the whole, so that no part can be changed.

    Args:
        database: Database of the server.
        loader: Loader of principals.
        settings: Settings of sessions.
        clock: Returns the current time.
        keys: Service of keys, for browsers that sign in with one.
    """

    def __init__(
        self,
        database: Database,
        loader: PrincipalLoader,
        settings: SessionSettings,
        clock: Callable[[], datetime] = get_time,
        *,
        keys: KeyService,
    ) -> None:
        self._database = database
        self._loader = loader
        self._clock = clock
        self._keys = keys
        self._life = timedelta(hours=settings.hours)
        self._max_idle = timedelta(minutes=settings.idle_minutes)

    def open(self, user_id: str, address: str) -> OpenedSession:
        """Open a session of an account that has signed in.

        Raises:
            AuthenticationError: The account is disabled.
        """
        return self._open(user_id, address, key_id="")

    def open_with_key(self, key: Principal) -> OpenedSession:
        """Open a session that has the limits of a key, and ends with it.

        Args:
            key: Principal of the key.

        Raises:
            PermissionDeniedError: It is the token of an agent.
        """
        if key.kind != "key":
            raise PermissionDeniedError("a token of an agent opens no session", hint="Sign in with an API key.")
        return self._open(key.user_id, key.address, key_id=key.credential_id)

    def authenticate(self, cookie: str, address: str) -> AuthenticatedSession:
        """Return the session of a cookie.

        A cookie that was replaced some time ago may be a stolen one, so it ends its session.

        Raises:
            AuthenticationError: The session has ended, or its account or key is disabled.
            DatabaseUnavailableError: The database does not answer.
        """
        now = self._clock()
        digest = hash_secret(cookie[:_MAX_COOKIE_CHARS])
        with self._database.read() as session:
            row = session.scalar(
                select(BrowserSession).where(
                    or_(BrowserSession.digest == digest, BrowserSession.previous_digest == digest)
                )
            )
            if row is None:
                raise _make_ended_error()
            is_current = row.digest == digest
            is_over = now >= row.expires_at or now >= row.rotated_at + self._max_idle
            is_replayed = not is_current and now >= row.rotated_at + GRACE
            if not (is_over or is_replayed):
                caller = self._load(session, row, cookie, address)
        if is_over or is_replayed:
            self._delete(row.id)
            raise _make_ended_error()
        max_age_s = int((row.expires_at - now).total_seconds())
        needs_rotation = is_current and now >= row.rotated_at + ROTATION
        return AuthenticatedSession(caller, _compute_csrf(cookie), row.expires_at, max_age_s, needs_rotation)

    def rotate(self, cookie: str) -> str | None:
        """Replace a cookie and return the new value; None if another request has just done it.

        Call it only for a reply that carries the new value: without it, the browser is signed out after `GRACE`.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        now = self._clock()
        digest = hash_secret(cookie)
        seed, key_id, _ = cookie.split(".")
        replacement = f"{seed}.{key_id}.{create_secret()}"
        change = (
            update(BrowserSession)
            .where(BrowserSession.digest == digest, BrowserSession.rotated_at <= now - ROTATION)
            .values(digest=hash_secret(replacement), previous_digest=digest, rotated_at=now)
        )
        with self._database.begin() as session:
            user_id = session.scalar(change.returning(BrowserSession.user_id))
            session.execute(update(User).where(User.id == user_id).values(seen_at=now))
        return replacement if user_id is not None else None

    def close(self, cookie: str) -> None:
        """End the session of a cookie, if there is one."""
        digest = hash_secret(cookie[:_MAX_COOKIE_CHARS])
        of_cookie = or_(BrowserSession.digest == digest, BrowserSession.previous_digest == digest)
        with self._database.begin() as session:
            session.execute(delete(BrowserSession).where(of_cookie))

    def close_all(self, user_id: str) -> None:
        """End all sessions of an account."""
        with self._database.begin() as session:
            session.execute(delete(BrowserSession).where(BrowserSession.user_id == user_id))

    def _open(self, user_id: str, address: str, key_id: str) -> OpenedSession:
        now = self._clock()
        cookie = f"{create_secret()}.{key_id}.{create_secret()}"
        with self._database.begin() as session:
            user = check_active(session.get(User, user_id))
            _make_room(session, user_id, now)
            row = BrowserSession(
                digest=hash_secret(cookie),
                user_id=user_id,
                address=address[:_MAX_ADDRESS_CHARS],
                created_at=now,
                rotated_at=now,
                expires_at=now + self._life,
            )
            session.add(row)
            session.flush()
            user.seen_at = now
            caller = self._load(session, row, cookie, address)
        max_age_s = int(self._life.total_seconds())
        return OpenedSession(cookie, _compute_csrf(cookie), row.expires_at, max_age_s, caller)

    def _load(self, session: Session, row: BrowserSession, cookie: str, address: str) -> Principal:
        if key_id := cookie.split(".")[1]:
            caller = self._keys.load_principal(session, key_id, address)
        else:
            caller = self._loader.load(
                session,
                check_active(session.get(User, row.user_id)),
                kind="session",
                credential_id=row.id,
                scopes=None,
                repository_ids=None,
                address=address,
            )
        return replace(caller, session_id=row.id)

    def _delete(self, session_id: str) -> None:
        with self._database.begin() as session:
            session.execute(delete(BrowserSession).where(BrowserSession.id == session_id))


def _make_room(session: Session, user_id: str, now: datetime) -> None:
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at <= now))
    own = select(BrowserSession.id).where(BrowserSession.user_id == user_id)
    newest_ids = session.scalars(
        own.order_by(BrowserSession.created_at.desc(), BrowserSession.id).limit(MAX_SESSIONS - 1)
    )
    is_surplus = BrowserSession.id.not_in(newest_ids.all())
    session.execute(delete(BrowserSession).where(BrowserSession.user_id == user_id, is_surplus))


def _compute_csrf(cookie: str) -> str:
    """Return the CSRF token of a cookie, which stays the same when the cookie is replaced."""
    return hmac.digest(cookie.split(".", maxsplit=1)[0].encode(), b"csrf", hashlib.sha256).hex()


def _make_ended_error() -> AuthenticationError:
    return AuthenticationError("the session has ended", hint="Sign in again.")
