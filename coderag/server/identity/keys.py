"""API keys and tokens of agents."""

import builtins
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from coderag.errors import AuthenticationError, DatabaseUnavailableError, InvalidValueError, UnknownNameError
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Scope
from coderag.server.identity.key_checks import check_key, check_limits, parse_scopes, require_key_owner
from coderag.server.identity.principals import PrincipalLoader, check_active
from coderag.server.identity.secret_texts import create_secret, hash_secret, matches_digest
from coderag.server.storage.columns import create_id, get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, User

KeyKind = Literal["key", "agent"]

KEY_PREFIX: Final = "cr_"
"""Beginning of every secret, by which scanners of secrets recognise one."""

MAX_KEYS: Final = 200
"""Maximum keys and tokens in force of one account."""

_PREFIX_CHARS: Final = 12
_SECRET_PATTERN: Final = re.compile(rf"cr_([0-9a-f]{{{_PREFIX_CHARS}}})_[A-Za-z0-9_-]{{43}}")
_DUMMY_DIGEST: Final = hash_secret("")
_MAX_NAME_CHARS: Final = 200
_USE_INTERVAL: Final = timedelta(minutes=1)
_KEEP_ENDED: Final = timedelta(days=90)
_KEEP_ENDED_TOKENS: Final = timedelta(days=1)
_MAX_LISTED: Final = 1_000


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key.

    Attributes:
        key: The key.
        secret: Its secret, of which only a digest is stored.
    """

    key: ApiKey
    secret: str = field(repr=False)


class KeyService:
    """API keys of accounts. Shared by threads and processes.

    Attributes:
        loader: Loader of principals.

    Args:
        database: Database of the server.
        loader: Loader of principals.
        clock: Returns the current time.
        agent_token_minutes: Minutes that a token of an agent lives.
    """

    def __init__(
        self,
        database: Database,
        loader: PrincipalLoader,
        clock: Callable[[], datetime] = get_time,
        *,
        agent_token_minutes: float = 60.0,
    ) -> None:
        self._database = database
        self.loader = loader
        self._clock = clock
        self._token_life = timedelta(minutes=agent_token_minutes)

    def create(  # noqa: PLR0913  # the values of a key
        self,
        principal: Principal,
        user_id: str,
        name: str,
        *,
        scopes: Collection[str],
        repository_ids: Collection[str] | None = None,
        expires_at: datetime | None = None,
        kind: KeyKind = "key",
        parent_id: str | None = None,
    ) -> CreatedKey:
        """Create a key of an account.

        Args:
            principal: Who creates it.
            user_id: Account that it belongs to.
            name: Purpose of the key.
            scopes: Its scopes.
            repository_ids: Only repositories that it reaches; None for all of its account.
            expires_at: Time from which it is refused; None for never.
            kind: `agent` for the token of an agent.
            parent_id: Key with which it ends.

        Raises:
            InvalidValueError: A value is invalid, or the account has too many keys.
            PermissionDeniedError: The principal may not create it.
            UnknownNameError: There is no such account, or the principal does not see a repository.
        """
        now = self._clock()
        ordered_scopes = parse_scopes(scopes)
        _check_values(name, expires_at, now)
        prefix = create_id()[:_PREFIX_CHARS]
        secret = f"{KEY_PREFIX}{prefix}_{create_secret()}"
        key = ApiKey(
            user_id=user_id,
            parent_id=parent_id,
            kind=kind,
            name=name,
            prefix=prefix,
            digest=hash_secret(secret),
            scopes=ordered_scopes,
            repository_ids=None if repository_ids is None else sorted(set(repository_ids)),
            created_at=now,
            expires_at=expires_at,
        )
        with self._database.begin() as session:
            check_active(require_key_owner(session, principal, user_id))
            check_limits(session, principal, ordered_scopes, repository_ids, expires_at)
            _prune(session, user_id, now)
            _check_number(session, user_id, now)
            session.add(key)
        return CreatedKey(key, secret)

    def create_agent_token(self, principal: Principal, repository_ids: Collection[str]) -> CreatedKey:
        """Create a token of an agent: it reads only these repositories, and ends soon or with the key that made it.

        Raises as `create`.
        """
        expires_at = self._clock() + self._token_life
        parent_id = None
        if principal.kind == "key":
            parent_id = principal.credential_id
            with self._database.read() as session:
                maker = session.get(ApiKey, parent_id)
            if maker is not None and maker.expires_at is not None:
                expires_at = min(expires_at, maker.expires_at)
        return self.create(
            principal,
            principal.user_id,
            "agent",
            scopes=[Scope.READ],
            repository_ids=repository_ids,
            expires_at=expires_at,
            kind="agent",
            parent_id=parent_id,
        )

    def authenticate(self, secret: str, address: str) -> Principal:
        """Return the principal of a key.

        An unknown key and a wrong secret take the same time and have the same error.

        Raises:
            AuthenticationError: The key is unknown, wrong, expired or revoked, or its account is disabled.
            DatabaseUnavailableError: The database does not answer.
        """
        now = self._clock()
        prefix = parse_prefix(secret)
        with self._database.read() as session:
            key = session.scalar(select(ApiKey).where(ApiKey.prefix == prefix))
            is_equal = matches_digest(secret, key.digest if key is not None else _DUMMY_DIGEST)
            if key is None or not is_equal:
                raise AuthenticationError(
                    "the key is not accepted", hint="Check that it is whole, or create another one."
                )
            principal = self._load(session, key, address, now)
        if key.used_at is None or key.used_at <= now - _USE_INTERVAL:
            self._mark_used(key, now)
        return principal

    def load_principal(self, session: Session, key_id: str, address: str) -> Principal:
        """Load the principal of a key that was authenticated before.

        Raises as `authenticate`.
        """
        key = session.get(ApiKey, key_id)
        if key is None:
            raise AuthenticationError("the key was removed", hint="Create another one.")
        return self._load(session, key, address, self._clock())

    def revoke(self, caller: Principal, key_id: str) -> None:
        """Revoke a key at once, with the tokens that it made.

        Raises:
            PermissionDeniedError: The caller may not revoke keys.
            UnknownNameError: There is no such key, or the caller may not know of it.
        """
        now = self._clock()
        with self._database.begin() as session:
            key = session.get(ApiKey, key_id)
            may_know = key is not None and (key.user_id == caller.user_id or caller.may(Action.USERS_MANAGE))
            if key is None or not may_know:
                raise UnknownNameError(f"unknown key {key_id[:80]!r}", hint="Check the id of the key.")
            require_key_owner(session, caller, key.user_id, is_revocation=True)
            ended = or_(ApiKey.id == key_id, ApiKey.parent_id == key_id)
            session.execute(update(ApiKey).where(ended, ApiKey.revoked_at.is_(None)).values(revoked_at=now))

    def list(self, user_id: str) -> builtins.list[ApiKey]:
        """List the newest keys and tokens of an account, ended ones included."""
        statement = select(ApiKey).where(ApiKey.user_id == user_id).order_by(ApiKey.created_at.desc(), ApiKey.id)
        with self._database.read() as session:
            return builtins.list(session.scalars(statement.limit(_MAX_LISTED)))

    def _load(self, session: Session, key: ApiKey, address: str, now: datetime) -> Principal:
        check_key(session, key, now)
        return self.loader.load(
            session,
            check_active(session.get(User, key.user_id)),
            kind="agent" if key.kind == "agent" else "key",
            credential_id=key.id,
            scopes=key.scopes,
            repository_ids=key.repository_ids,
            address=address,
        )

    def _mark_used(self, key: ApiKey, now: datetime) -> None:
        # A database that is read-only or locked for a moment must not fail a request that only reads.
        is_due = or_(ApiKey.used_at.is_(None), ApiKey.used_at <= now - _USE_INTERVAL)
        with suppress(DatabaseUnavailableError), self._database.begin() as session:
            session.execute(update(ApiKey).where(ApiKey.id == key.id, is_due).values(used_at=now))
            session.execute(update(User).where(User.id == key.user_id).values(seen_at=now))


def parse_prefix(secret: str) -> str:
    """Return the prefix of a key's secret, which is no secret itself; empty if it is none."""
    match = _SECRET_PATTERN.fullmatch(secret)
    return match[1] if match else ""


def _check_values(name: str, expires_at: datetime | None, now: datetime) -> None:
    if not name.strip() or len(name) > _MAX_NAME_CHARS:
        message = f"the name {name[:80]!r} has not 1 to {_MAX_NAME_CHARS} characters"
        raise InvalidValueError(message, hint="Choose another name.")
    if expires_at is not None and expires_at <= now:
        message = f"the time {expires_at:%Y-%m-%dT%H:%M:%SZ} has passed"
        raise InvalidValueError(message, hint="Give a later `expires_at`.")


def _check_number(session: Session, user_id: str, now: datetime) -> None:
    in_force = ApiKey.revoked_at.is_(None) & or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > now)
    number = session.scalar(select(func.count()).select_from(ApiKey).where(ApiKey.user_id == user_id, in_force))
    if (number or 0) >= MAX_KEYS:
        message = f"the account has {MAX_KEYS} keys and tokens in force"
        raise InvalidValueError(message, hint="Revoke one, or wait until tokens have expired.")


def _prune(session: Session, user_id: str, now: datetime) -> None:
    """Delete keys of an account that ended long ago; the audit record names them for as long as it is kept."""
    for kind, duration in (("key", _KEEP_ENDED), ("agent", _KEEP_ENDED_TOKENS)):
        ended = or_(ApiKey.expires_at < now - duration, ApiKey.revoked_at < now - duration)
        session.execute(delete(ApiKey).where(ApiKey.user_id == user_id, ApiKey.kind == kind, ended))
