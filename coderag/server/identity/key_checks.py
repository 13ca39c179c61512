"""Checks of stored API keys, and of the rights to make them."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from sqlalchemy.orm import Session

from coderag.errors import AuthenticationError, InvalidValueError, PermissionDeniedError, UnknownNameError
from coderag.server.access.principal import Principal
from coderag.server.access.roles import ROLE_LEVELS, Action, Level, Role, Scope
from coderag.server.storage.models import ApiKey, User

SERVICE_KIND: Final = "service"
"""Kind of an account of a program."""

_MAX_SHOWN_CHARS: Final = 80


def check_key(session: Session, key: ApiKey, now: datetime) -> None:
    """Check that a key, and the key that made it, is in force.

    Raises:
        AuthenticationError: It has expired or was revoked.
    """
    if key.revoked_at is not None:
        raise AuthenticationError("the key was revoked", hint="Create another one.")
    if key.expires_at is not None and key.expires_at <= now:
        raise AuthenticationError("the key has expired", hint="Create another one.")
    if key.parent_id is not None:
        parent = session.get(ApiKey, key.parent_id)
        if parent is None:
            raise AuthenticationError("the key that made this one is gone", hint="Create another one.")
        check_key(session, parent, now)


def require_key_owner(session: Session, principal: Principal, user_id: str, *, is_revocation: bool = False) -> User:
    """Return the account whose keys the principal may manage.

    Accounts of programs are managed by those who manage users, keys of other people by owners only: a key acts as its
    account in everything, the audit record included. Who manages users may revoke those of people, too.

    Args:
        session: An open transaction.
        principal: The acting principal.
        user_id: Id of the account.
        is_revocation: Whether a key is only revoked.

    Raises:
        PermissionDeniedError: The principal may not manage these keys.
        UnknownNameError: There is no such account, or the principal may not know of it.
    """
    if user_id == principal.user_id:
        _require(principal, Action.KEYS_OWN)
        user = session.get(User, user_id)
    else:
        _require(principal, Action.USERS_MANAGE)
        user = session.get(User, user_id)
        is_personal = user is not None and user.kind != SERVICE_KIND and not is_revocation
        if user is not None and (is_personal or Role(user.role) in ROLE_LEVELS):
            _require(principal, Action.OWNERS_MANAGE)
    if user is None:
        raise UnknownNameError(f"unknown account {user_id[:_MAX_SHOWN_CHARS]!r}", hint="Check the id of the account.")
    return user


def parse_scopes(scopes: Collection[str]) -> list[str]:
    """Return scopes in their order, each once.

    Raises:
        InvalidValueError: There is none, or one is unknown.
    """
    known = list(map(str, Scope))
    hint = f"Scopes are {', '.join(known)}."
    if not scopes:
        raise InvalidValueError("a key needs a scope", hint=hint)
    for scope in scopes:
        if scope not in known:
            raise InvalidValueError(f"unknown scope {str(scope)[:_MAX_SHOWN_CHARS]!r}", hint=hint)
    return [scope for scope in known if scope in scopes]


def check_limits(
    session: Session,
    principal: Principal,
    scopes: Collection[str],
    repository_ids: Collection[str] | None,
    expires_at: datetime | None,
) -> None:
    """Check that a new key allows no more, and for no longer, than the credential that makes it.

    Raises:
        InvalidValueError: It is bound to no repository, or would outlive the key that makes it.
        PermissionDeniedError: It has a scope that the credential has not, or is not bound to its repositories.
        UnknownNameError: It is bound to a repository that the principal does not see.
    """
    excess = [scope for scope in scopes if scope not in principal.scopes]
    if excess:
        message = f"your key does not have the scope {', '.join(excess)}"
        raise PermissionDeniedError(message, hint="Give the new key the scopes of your own, or fewer.")
    if repository_ids is not None and not repository_ids:
        raise InvalidValueError("the list of repositories is empty", hint="Name one, or leave the list out.")
    for repository_id in repository_ids or ():
        if principal.get_level(repository_id) is Level.NONE:
            message = f"unknown repository {repository_id[:_MAX_SHOWN_CHARS]!r}"
            raise UnknownNameError(message, hint="Name repositories that you see.")
    if principal.kind == "session":
        return
    maker = session.get(ApiKey, principal.credential_id)
    if maker is None:
        raise PermissionDeniedError("this credential makes no keys", hint="Use an API key, or sign in.")
    if maker.repository_ids is not None and repository_ids is None:
        message = "your key is bound to repositories, so the new one must be, too"
        raise PermissionDeniedError(message, hint="Name repositories of your key.")
    if maker.expires_at is not None and (expires_at is None or expires_at > maker.expires_at):
        message = f"the new key would outlive yours, which expires at {maker.expires_at:%Y-%m-%dT%H:%M:%SZ}"
        raise InvalidValueError(message, hint="Give an `expires_at` that is not later.")


def _require(principal: Principal, action: Action) -> None:
    if not principal.may(action):
        message = f"the role {principal.role} or the scopes of the key do not allow {action}"
        raise PermissionDeniedError(message, hint="Sign in with another account or key.")
