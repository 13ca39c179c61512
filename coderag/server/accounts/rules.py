"""Rules that all changes of accounts and teams follow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from coderag.errors import DuplicateNameError, InvalidValueError, PermissionDeniedError, UnknownNameError
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Role
from coderag.server.storage.models import User

PRIVILEGED_ROLES: Final = frozenset({Role.OWNER, Role.ADMIN})
"""Roles that only owners give and take."""

MAX_NAME_CHARS: Final = 200


def require_action(actor: Principal, action: Action) -> None:
    """Check that the actor may do an action.

    Raises:
        PermissionDeniedError: The actor may not.
    """
    if not actor.may(action):
        message = f"the role {actor.role} or the scopes of the key do not allow {action}"
        raise PermissionDeniedError(message, hint="Ask an owner of this server.")


def require_management(actor: Principal, *roles: Role) -> None:
    """Check that the actor may manage accounts of these roles.

    Raises:
        PermissionDeniedError: The actor may not manage accounts, or one of the roles is privileged and the actor no owner.
    """
    require_action(actor, Action.USERS_MANAGE)
    privileged = PRIVILEGED_ROLES.intersection(roles)
    if privileged and not actor.may(Action.OWNERS_MANAGE):
        message = f"only an owner may manage accounts with the role {min(privileged)}"
        raise PermissionDeniedError(message, hint="Ask an owner of this server.")


def lock_owners(session: Session) -> set[str]:
    """Lock the active owners until the transaction ends, and return their ids.

    On PostgreSQL two owners could otherwise demote one another at the same moment, each seeing the other as still there.
    """
    owners = select(User.id).where(User.role == Role.OWNER, User.is_active).order_by(User.id).with_for_update()
    return set(session.scalars(owners))


def require_other_owner(owner_ids: set[str], user_id: str) -> None:
    """Check that an active owner remains without this account.

    Raises:
        InvalidValueError: The account is the last active owner.
    """
    if owner_ids == {user_id}:
        message = "the last active owner cannot be removed, disabled or given another role"
        raise InvalidValueError(message, hint="Make another account an owner first.")


def get_user(session: Session, user_id: str, *, is_locked: bool = False) -> User:
    """Return an account by its id.

    Raises:
        UnknownNameError: There is none.
    """
    user = session.get(User, user_id, with_for_update=is_locked)
    if user is None:
        raise make_unknown_error("account", user_id)
    return user


def make_unknown_error(kind: str, reference: str) -> UnknownNameError:
    """Make the error of something that does not exist, or that the caller may not see."""
    return UnknownNameError(f"unknown {kind} {reference[:80]!r}", hint=f"Check the id of the {kind}.")


def check_name(name: str, kind: str = "name") -> str:
    """Return a name without white space around it.

    Raises:
        InvalidValueError: It is empty, too long, or has control characters.
    """
    stripped = name.strip()
    if not stripped or len(stripped) > MAX_NAME_CHARS or not stripped.isprintable():
        message = f"{kind} {stripped[:80]!r}: must have 1 to {MAX_NAME_CHARS} printable characters"
        raise InvalidValueError(message, hint=f"Choose another {kind}.")
    return stripped


def check_email(email: str) -> str:
    """Return an e-mail address in lower case.

    Raises:
        InvalidValueError: It is not an address.
    """
    address = check_name(email, "e-mail").lower()
    local, _, domain = address.rpartition("@")
    if not local or not domain or any(map(str.isspace, address)):
        message = f"e-mail {address[:80]!r}: is not an address"
        raise InvalidValueError(message, hint="Write it as name@example.org.")
    return address


@contextmanager
def refuse_duplicates(kind: str, name: str) -> Iterator[None]:
    """Raise violations of a unique column as `DuplicateNameError`."""
    try:
        yield
    except IntegrityError as error:
        raise make_duplicate_error(kind, name) from error


def make_duplicate_error(kind: str, name: str) -> DuplicateNameError:
    """Make the error of a name that is taken."""
    return DuplicateNameError(f"the {kind} {name[:80]!r} is taken", hint=f"Choose another {kind}.")
