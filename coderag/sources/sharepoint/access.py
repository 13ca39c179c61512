"""Readers of a file, from its permissions in Microsoft Graph.

Sources: https://learn.microsoft.com/graph/api/resources/permission,
https://learn.microsoft.com/graph/api/resources/sharepointidentityset
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from coderag.schema.items import ItemAccess
from coderag.sources.json_values import get_objects, get_text, get_value, parse_time

_READING_ROLES = frozenset({"read", "write", "owner", "sp.full control", "sp.owner", "sp.member"})
# Login names of "Everyone" and "Everyone except external users".
_EVERYONE = ("c:0(.s|true", "c:0-.f|rolemanager|spo-grid-all-users/")


def parse_access(permissions: Sequence[dict[str, Any]], now: datetime | None = None) -> ItemAccess:
    """Parse the permissions of a file.

    A link for anyone, or for the organisation, opens a file only to those who have the link; it makes nothing public.
    """
    now = now or datetime.now(UTC)
    users: set[str] = set()
    groups: set[str] = set()
    for permission in permissions:
        expiry = parse_time(get_text(permission, "expirationDateTime"))
        roles = permission.get("roles")
        is_reading = isinstance(roles, list) and any(str(role).lower() in _READING_ROLES for role in roles)
        if not is_reading or (expiry is not None and expiry <= now):
            continue
        for identities in _iterate_identity_sets(permission):
            if get_text(identities, "siteUser", "loginName").lower().startswith(_EVERYONE) or get_text(
                identities, "siteGroup", "loginName"
            ).lower().startswith(_EVERYONE):
                return ItemAccess(is_public=True)
            user, group = _find_user(identities), _find_group(identities)
            users |= {user} - {""}
            groups |= {group} - {""}
    return ItemAccess(users=tuple(sorted(users)), groups=tuple(sorted(groups)))


def _iterate_identity_sets(permission: dict[str, Any]) -> Iterator[dict[str, Any]]:
    granted = get_value(permission, "grantedToV2") or get_value(permission, "grantedTo")
    if isinstance(granted, dict):
        yield granted
    if get_text(permission, "link", "scope") in {"users", ""}:
        yield from get_objects(permission, "grantedToIdentitiesV2") or get_objects(permission, "grantedToIdentities")


def _find_user(identities: dict[str, Any]) -> str:
    """Return a user's address or, without one, the name."""
    login = get_text(identities, "siteUser", "loginName")
    names = [
        get_text(identities, "user", "email"),
        get_text(identities, "user", "userPrincipalName"),
        get_text(identities, "siteUser", "email"),
        login.rpartition("|")[2] if "|membership|" in login else "",
        get_text(identities, "user", "displayName"),
    ]
    return next((name for name in names if name), "")


def _find_group(identities: dict[str, Any]) -> str:
    names = [
        get_text(identities, "group", "displayName"),
        get_text(identities, "group", "email"),
        get_text(identities, "siteGroup", "displayName"),
    ]
    return next((name for name in names if name), "")
