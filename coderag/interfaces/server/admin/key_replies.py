"""Replies about API keys, and their creation for an account."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from pydantic import Field

from coderag.interfaces.rest.bodies import RequestBody
from coderag.interfaces.server.admin.access import read_names, resolve_names
from coderag.interfaces.server.admin.parameters import MAX_KEY_REPOSITORIES, Name, ScopeName, Time
from coderag.interfaces.server.admin.services import AdministrationServices
from coderag.server.access.principal import Principal
from coderag.server.accounts.rules import check_name, make_unknown_error
from coderag.server.identity.keys import CreatedKey
from coderag.server.paging import ListPage, slice_page
from coderag.server.storage.models import ApiKey


class KeyBody(RequestBody):
    """A key to create."""

    name: Name = Field(description="Purpose of the key, for its list.")
    scopes: list[ScopeName] = Field(
        ["read"], min_length=1, max_length=3, description="Limits of the key; the role and the grants limit it, too."
    )
    repositories: list[Name] | None = Field(
        None, min_length=1, max_length=MAX_KEY_REPOSITORIES, description="Names of the only repositories; null: all."
    )
    expires_at: Time | None = Field(None, description="Time from which it is refused; null: never.")


@dataclass(frozen=True, slots=True)
class KeyReply:
    """An API key or agent token, without its secret.

    Attributes:
        kind: `key`, or `agent` for a token of an agent.
        prefix: Beginning of its secret.
        repositories: Names of the repositories that it is bound to, of those that the caller sees; null: not bound.
        used_at: Time of its last use, to the minute.
    """

    id: str
    kind: str
    name: str
    prefix: str
    scopes: Sequence[ScopeName]
    repositories: Sequence[str] | None
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class CreatedKeyReply:
    """A new key with its secret, which is shown this once."""

    key: KeyReply
    secret: str


def issue_key(services: AdministrationServices, principal: Principal, user_id: str, body: KeyBody) -> CreatedKeyReply:
    """Create a key of an account.

    Raises:
        InvalidValueError: A value is invalid, or the account has too many keys.
        PermissionDeniedError: The caller may not create it.
        UnknownNameError: The caller sees no repository of that name.
    """
    bound = None if body.repositories is None else resolve_names(services, principal, body.repositories)
    issued = services.keys.create(
        principal,
        user_id,
        check_name(body.name),
        scopes=list(dict.fromkeys(body.scopes)),
        repository_ids=bound,
        expires_at=body.expires_at,
    )
    return to_created_reply(services, principal, issued)


def to_created_reply(services: AdministrationServices, principal: Principal, issued: CreatedKey) -> CreatedKeyReply:
    """Convert a new key."""
    return CreatedKeyReply(_to_reply(issued.key, read_names(services, principal)), issued.secret)


def list_key_replies(
    services: AdministrationServices, principal: Principal, user_id: str, cursor: str | None, limit: int
) -> ListPage[KeyReply]:
    """List the newest keys of an account, in the order of their creation."""
    keys = sorted(services.keys.list(user_id), key=_sort_key)
    page = slice_page(keys, _sort_key, cursor, limit)
    names = read_names(services, principal)
    return ListPage([_to_reply(key, names) for key in page.items], page.next)


def revoke_key(services: AdministrationServices, principal: Principal, user_id: str, key_id: str) -> None:
    """Revoke a key of an account.

    Raises:
        UnknownNameError: The account has no such key.
    """
    if all(key.id != key_id for key in services.keys.list(user_id)):
        raise make_unknown_error("key", key_id)
    services.keys.revoke(principal, key_id)


def _sort_key(key: ApiKey) -> tuple[str, str]:
    return key.created_at.isoformat(), key.id


def _to_reply(key: ApiKey, names: dict[str, str]) -> KeyReply:
    bound = key.repository_ids
    return KeyReply(
        id=key.id,
        kind=key.kind,
        name=key.name,
        prefix=key.prefix,
        scopes=cast("list[ScopeName]", [str(scope) for scope in key.scopes]),
        repositories=None if bound is None else sorted(names[each] for each in bound if each in names),
        created_at=key.created_at,
        expires_at=key.expires_at,
        used_at=key.used_at,
        revoked_at=key.revoked_at,
    )
