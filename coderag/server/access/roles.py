"""Roles, actions and levels of grants: the one table that decides who may do what."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final


class Role(StrEnum):
    """Role of an account."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"
    AUDITOR = "auditor"


class Level(IntEnum):
    """Level of a grant; each includes those before it."""

    NONE = 0
    READ = 1
    INDEX = 2
    ADMINISTER = 3


class Action(StrEnum):
    """Something that a route, tool or command does."""

    PUBLIC = "public"
    """Needs no sign-in: health, the page, signing in."""
    IDENTIFY = "identify"
    """Read one's own account, session and quotas."""
    KEYS_OWN = "keys.own"
    """Create, list and revoke one's own keys and agent tokens."""
    SESSIONS_OWN = "sessions.own"
    """List and end one's own browser sessions."""
    REPOSITORIES_LIST = "repositories.list"
    """List the repositories that one may see."""
    REPOSITORY_READ = "repository.read"
    """Search, ask and read a repository."""
    REPOSITORY_CONVERSE = "repository.converse"
    """Keep conversations and give feedback, visible to oneself."""
    REPOSITORY_INDEX = "repository.index"
    """Start and cancel jobs of a repository."""
    REPOSITORY_ADMINISTER = "repository.administer"
    """Read settings, recorded queries and feedback of a repository, and change its schedule and webhook."""
    REPOSITORIES_MANAGE = "repositories.manage"
    """Add and remove repositories and credentials."""
    TEAMS_MANAGE = "teams.manage"
    """Change teams, memberships and grants."""
    USERS_READ = "users.read"
    """List accounts and teams."""
    USERS_MANAGE = "users.manage"
    """Create, disable and remove accounts, and revoke their keys."""
    OWNERS_MANAGE = "owners.manage"
    """Give and take the roles owner and admin."""
    AUDIT_READ = "audit.read"
    """Read, verify and export the audit record."""
    SERVER_OPERATE = "server.operate"
    """Read all jobs and metrics, and reload the settings."""
    LOCAL = "local"
    """Exists in the local service only; the team server does not serve it."""


_ACCOUNT: Final = frozenset({Action.IDENTIFY, Action.KEYS_OWN, Action.SESSIONS_OWN})
_EVERYBODY: Final = frozenset({Action.PUBLIC, Action.REPOSITORIES_LIST}) | _ACCOUNT
_READER: Final = _EVERYBODY | {Action.REPOSITORY_READ}
_MEMBER: Final = _READER | {Action.REPOSITORY_CONVERSE, Action.REPOSITORY_INDEX, Action.REPOSITORY_ADMINISTER}
_ADMIN: Final = _MEMBER | {
    Action.REPOSITORIES_MANAGE,
    Action.TEAMS_MANAGE,
    Action.USERS_READ,
    Action.USERS_MANAGE,
    Action.SERVER_OPERATE,
}

ROLE_ACTIONS: Final[Mapping[Role, frozenset[Action]]] = MappingProxyType(
    {
        Role.OWNER: _ADMIN | {Action.OWNERS_MANAGE, Action.AUDIT_READ},
        Role.ADMIN: _ADMIN,
        Role.MEMBER: _MEMBER,
        Role.VIEWER: _READER,
        Role.AUDITOR: _EVERYBODY | {Action.USERS_READ, Action.AUDIT_READ},
    }
)
"""Actions of each role. Those on one repository need a grant of its level, too."""

ACTION_LEVELS: Final[Mapping[Action, Level]] = MappingProxyType(
    {
        Action.REPOSITORY_READ: Level.READ,
        Action.REPOSITORY_CONVERSE: Level.READ,
        Action.REPOSITORY_INDEX: Level.INDEX,
        Action.REPOSITORY_ADMINISTER: Level.ADMINISTER,
    }
)
"""Level that an action needs on its repository."""

ROLE_LEVELS: Final[Mapping[Role, Level]] = MappingProxyType(
    {Role.OWNER: Level.ADMINISTER, Role.ADMIN: Level.ADMINISTER}
)
"""Level of a role on every repository, without a grant."""

MAX_GRANTED_LEVELS: Final[Mapping[Role, Level]] = MappingProxyType(
    {Role.MEMBER: Level.ADMINISTER, Role.VIEWER: Level.READ, Role.AUDITOR: Level.NONE}
)
"""Highest level that a grant can give to a role."""


class Scope(StrEnum):
    """Limit of an API key: what it may be used for, at most."""

    READ = "read"
    INDEX = "index"
    ADMINISTER = "administer"


SCOPE_LEVELS: Final[Mapping[Scope, Level]] = MappingProxyType(
    {Scope.READ: Level.READ, Scope.INDEX: Level.INDEX, Scope.ADMINISTER: Level.ADMINISTER}
)
"""Highest level on a repository that each scope of a key allows."""

READ_SCOPE_ACTIONS: Final = _READER | {Action.REPOSITORY_CONVERSE}
"""Actions of a key without the scope `administer`, beside those on repositories at its level."""

BOUND_ACTIONS: Final = READ_SCOPE_ACTIONS | ACTION_LEVELS.keys()
"""Actions of a credential that is bound to repositories: it could otherwise give itself or others more than it has."""
