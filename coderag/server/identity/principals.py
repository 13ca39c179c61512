"""Principals of accounts, with the levels that their roles, teams and credentials give them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from coderag.errors import AuthenticationError
from coderag.server.access.principal import Principal, PrincipalKind
from coderag.server.access.roles import MAX_GRANTED_LEVELS, ROLE_LEVELS, SCOPE_LEVELS, Level, Role, Scope
from coderag.server.identity.key_checks import check_key
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import (
    ApiKey,
    BrowserSession,
    Grant,
    HostedRepository,
    Membership,
    RepositorySource,
    User,
)

PROVIDER_CREDENTIAL: Final = "oidc-"
"""Beginning of the ids of credentials that the provider issues; the database has no rows of them."""

_ALL_SCOPES: Final = frozenset(Scope)
_KNOWN_SCOPES: Final = frozenset(map(str, Scope))

_MAX_LISTED_IDS: Final = 500
"""Maximum ids in one statement; beyond, all rows are read: databases limit the parameters."""


class PrincipalLoader:
    """Loader of principals. Each request loads its own, so that every change of rights holds for the next one.

    Args:
        database: Database of the server.
        clock: Returns the current time.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = get_time) -> None:
        self._database = database
        self._clock = clock

    def load(
        self,
        session: Session,
        user: User,
        *,
        kind: PrincipalKind,
        credential_id: str,
        scopes: Collection[str] | None,
        repository_ids: Collection[str] | None,
        address: str,
    ) -> Principal:
        """Load the principal of an account and one of its credentials.

        Args:
            session: An open transaction.
            user: The account.
            kind: Kind of the credential.
            credential_id: Id of the credential.
            scopes: Scopes of the credential; None for all. Unknown ones allow nothing.
            repository_ids: Only repositories of the credential; None for all.
            address: Network address of the client.

        Raises:
            AuthenticationError: The account is disabled.
        """
        check_active(user)
        role = Role(user.role)
        own_scopes = _ALL_SCOPES if scopes is None else frozenset(map(Scope, _KNOWN_SCOPES.intersection(scopes)))
        limit = max((SCOPE_LEVELS[scope] for scope in own_scopes), default=Level.NONE)
        team_ids = frozenset(session.scalars(select(Membership.team_id).where(Membership.user_id == user.id)))
        if (role_level := ROLE_LEVELS.get(role)) is not None:
            granted = dict.fromkeys(session.scalars(select(HostedRepository.id)), role_level)
        else:
            limit = min(limit, MAX_GRANTED_LEVELS[role])
            granted = _read_repository_grants(session, team_ids) if limit else {}
        if repository_ids is not None:
            granted = {each: granted[each] for each in repository_ids if each in granted}
        levels = _limit(granted, limit)
        sees_all_sources = role_level is not None
        source_levels = _read_source_levels(session, levels, None if sees_all_sources else team_ids)
        return Principal(
            user_id=user.id,
            name=user.name,
            role=role,
            kind=kind,
            credential_id=credential_id,
            team_ids=team_ids,
            scopes=own_scopes,
            repository_levels=levels,
            source_levels=_limit(source_levels, limit),
            sees_all_sources=sees_all_sources,
            is_bound=repository_ids is not None,
            address=address,
        )

    def reload(self, principal: Principal) -> Principal:
        """Load a principal again, for a request that goes on for long, such as a stream.

        Raises:
            AuthenticationError: Its account was disabled or removed, or its credential has ended.
            DatabaseUnavailableError: The database does not answer.
        """
        with self._database.read() as session:
            user = check_active(session.get(User, principal.user_id))
            repository_ids = None
            now = self._clock()
            if principal.expires_at is not None and principal.expires_at <= now:
                raise AuthenticationError("the provider's token has expired", hint="Sign in again.")
            if principal.session_id:  # also beside a key that has opened it
                row = session.get(BrowserSession, principal.session_id)
                if row is None or row.expires_at <= now:
                    raise AuthenticationError("the session has ended", hint="Sign in again.")
            if principal.kind != "session" and not principal.credential_id.startswith(PROVIDER_CREDENTIAL):
                key = session.get(ApiKey, principal.credential_id)
                if key is None:
                    raise AuthenticationError("the key was removed", hint="Create another one.")
                check_key(session, key, now)
                repository_ids = key.repository_ids
            current = self.load(
                session,
                user,
                kind=principal.kind,
                credential_id=principal.credential_id,
                scopes=principal.scopes,
                repository_ids=repository_ids,
                address=principal.address,
            )
            return replace(current, session_id=principal.session_id, expires_at=principal.expires_at)


def check_active(user: User | None) -> User:
    """Return an account that may sign in.

    Raises:
        AuthenticationError: It was removed or disabled.
    """
    if user is None or not user.is_active:
        raise AuthenticationError("the account is disabled", hint="Ask an administrator of this server.")
    return user


def _limit(levels: Mapping[str, Level], limit: Level) -> dict[str, Level]:
    """Return the levels up to a limit, without those that hide."""
    capped = {key: min(level, limit) for key, level in levels.items()}
    return {key: level for key, level in capped.items() if level is not Level.NONE}


def _read_repository_grants(session: Session, team_ids: frozenset[str]) -> dict[str, Level]:
    statement = select(Grant.repository_id, Grant.level).where(
        Grant.team_id.in_(team_ids), Grant.repository_id.is_not(None)
    )
    return _collect_highest((str(key), level) for key, level in session.execute(statement))


def _read_source_levels(
    session: Session, levels: Mapping[str, Level], team_ids: frozenset[str] | None
) -> dict[str, Level]:
    """Return the levels of the sources of repositories: their grants to teams, else the level of the repository.

    Args:
        session: An open transaction.
        levels: Levels of the repositories.
        team_ids: Teams whose grants count; None if grants on sources do not limit.
    """
    if not levels:
        return {}
    statement = select(RepositorySource.id, RepositorySource.repository_id)
    if len(levels) <= _MAX_LISTED_IDS:
        statement = statement.where(RepositorySource.repository_id.in_(levels))
    sources = {key: levels[owner] for key, owner in session.execute(statement) if owner in levels}
    if team_ids is None or not sources:
        return sources
    rows = session.execute(select(Grant.source_id, Grant.team_id, Grant.level).where(Grant.source_id.is_not(None)))
    grants = [(str(source), team, level) for source, team, level in rows if source in sources]
    restricted = dict.fromkeys((source for source, _, _ in grants), Level.NONE)
    own = _collect_highest((source, level) for source, team, level in grants if team in team_ids)
    return sources | restricted | own


def _collect_highest(rows: Iterable[tuple[str, int]]) -> dict[str, Level]:
    highest: dict[str, Level] = {}
    for key, level in rows:
        highest[key] = max(highest.get(key, Level.NONE), Level(level))
    return highest
