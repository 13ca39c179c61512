"""Accounts and memberships of people who sign in with the provider."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from coderag.errors import AuthenticationError
from coderag.server.identity.principals import check_active
from coderag.server.settings import OidcSettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import Membership, Team, User

_PERSON: Final = "person"
_MAX_NAME_CHARS: Final = 200
_MAX_GROUPS: Final = 10_000


class OidcAccounts:
    """Accounts that follow the provider.

    A person is known by issuer and subject. At the first sign-in an account that an administrator made for the e-mail is
    taken over, if the provider has verified that e-mail; an unverified one is never used.

    Args:
        database: Database of the server.
        settings: Settings of the provider.
        clock: Returns the current time.
    """

    def __init__(self, database: Database, settings: OidcSettings, clock: Callable[[], datetime] = get_time) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    def update(self, claims: Mapping[str, Any]) -> User:
        """Create or update the account of a person, and its memberships.

        Args:
            claims: Verified claims of the provider.

        Raises:
            AuthenticationError: The account is disabled, or its e-mail is not accepted.
        """
        email = _read_email(claims)
        self._check_domain(email)
        try:
            return self._update(claims, email)
        except IntegrityError:  # another sign-in of the same person has created the account meanwhile
            return self._update(claims, email)

    def _update(self, claims: Mapping[str, Any], email: str | None) -> User:
        with self._database.begin() as session:
            user = self._find(session, str(claims["sub"]), email)
            if user is None:
                user = User(kind=_PERSON, role=self._settings.default_role, created_at=self._clock())
                session.add(user)
            elif not user.is_active:
                check_active(user)
            user.oidc_issuer, user.oidc_subject = self._settings.issuer, str(claims["sub"])
            user.name = _read_name(claims, email)
            user.seen_at = self._clock()
            if email is not None and _is_free(session, email, user):
                user.email = email
            session.flush()
            _follow_groups(session, user.id, _read_groups(claims, self._settings.groups_claim))
            return user

    def _find(self, session: Session, subject: str, email: str | None) -> User | None:
        own = select(User).where(User.oidc_issuer == self._settings.issuer, User.oidc_subject == subject)
        user = session.scalar(own.with_for_update())
        if user is not None or email is None:
            return user
        invited = select(User).where(User.email == email, User.oidc_subject.is_(None), User.kind == _PERSON)
        return session.scalar(invited.with_for_update())

    def _check_domain(self, email: str | None) -> None:
        domains = [domain.casefold().lstrip("@") for domain in self._settings.email_domains]
        if domains and (email is None or email.rpartition("@")[2] not in domains):
            message = "the provider has not verified an e-mail of an accepted domain"
            raise AuthenticationError(message, hint="Sign in with your account of the organisation.")


def _read_email(claims: Mapping[str, Any]) -> str | None:
    """Return the verified e-mail; None without one."""
    email = claims.get("email")
    if not isinstance(email, str) or claims.get("email_verified") is not True:
        return None
    local, _, domain = email.strip().rpartition("@")
    is_usable = bool(local and domain) and len(email) <= _MAX_NAME_CHARS and email.strip().isprintable()
    return email.strip().lower() if is_usable else None


def _read_name(claims: Mapping[str, Any], email: str | None) -> str:
    for value in (claims.get("name"), claims.get("preferred_username"), email, claims["sub"]):
        if isinstance(value, str) and value.strip():
            printable = "".join(char if char.isprintable() else " " for char in value.strip())
            return printable[:_MAX_NAME_CHARS]
    return str(claims["sub"])[:_MAX_NAME_CHARS]


def _read_groups(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    value = claims.get(claim)
    listed = value if isinstance(value, list) else [value]
    return frozenset(group for group in listed[:_MAX_GROUPS] if isinstance(group, str) and group)


def _is_free(session: Session, email: str, user: User) -> bool:
    with session.no_autoflush:
        owner_id = session.scalar(select(User.id).where(User.email == email))
    return owner_id is None or owner_id == user.id


def _follow_groups(session: Session, user_id: str, groups: frozenset[str]) -> None:
    """Make memberships from the provider follow the groups; those that an administrator made stay."""
    teams = session.execute(select(Team.id, Team.oidc_group).where(Team.oidc_group.is_not(None)))
    wanted = {team_id for team_id, group in teams if group in groups}
    rows = session.scalars(select(Membership).where(Membership.user_id == user_id)).all()
    for row in rows:
        if row.is_from_oidc and row.team_id not in wanted:
            session.delete(row)
    joined_ids = {row.team_id for row in rows}
    session.add_all(
        Membership(team_id=team_id, user_id=user_id, is_from_oidc=True) for team_id in sorted(wanted - joined_ids)
    )
    session.flush()
