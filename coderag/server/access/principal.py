"""The sender of a request, with everything that decides what it may see and do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from coderag.server.access.roles import (
    ACTION_LEVELS,
    BOUND_ACTIONS,
    READ_SCOPE_ACTIONS,
    ROLE_ACTIONS,
    Action,
    Level,
    Role,
    Scope,
)

PrincipalKind = Literal["session", "key", "agent"]
"""Credential of a request: a browser session, an API key, or an agent's token."""

_ALL_SCOPES: Final = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Principal:
    """The account that sends a request, as its credential allows.

    Attributes:
        user_id: Id of the account.
        name: Name of the account.
        role: Role of the account.
        kind: Credential of the request.
        credential_id: Id of the key, token or session.
        team_ids: Ids of its teams.
        scopes: Scopes of the credential; all for a session.
        repository_levels: Level by id of each repository that it may see, limited by role, scopes and binding.
        source_levels: Level by id of each source that it may see.
        sees_all_sources: Whether its role sees every source of the repositories that it sees.
        session_id: Id of the browser session that sends the request; empty for programs.
        expires_at: End of a token that the provider has issued; None if the database knows the end of the credential.
        is_bound: Whether its credential is bound to repositories, so that it does nothing to the server itself.
        address: Network address of the client.
    """

    user_id: str
    name: str
    role: Role
    kind: PrincipalKind = "session"
    credential_id: str = ""
    team_ids: frozenset[str] = frozenset()
    scopes: frozenset[Scope] = _ALL_SCOPES
    repository_levels: Mapping[str, Level] = field(default_factory=dict)
    source_levels: Mapping[str, Level] = field(default_factory=dict)
    sees_all_sources: bool = False
    session_id: str = ""
    expires_at: datetime | None = None
    is_bound: bool = False
    address: str = ""

    def may(self, action: Action) -> bool:
        """Return whether role and scopes allow an action, on some repository if it is one on a repository."""
        if action not in ROLE_ACTIONS[self.role]:
            return False
        is_session = self.kind == "session"
        if action is Action.SESSIONS_OWN:  # an agent must not sign people out
            is_unbound = Scope.ADMINISTER in self.scopes and not self.is_bound
            return is_unbound or is_session or bool(self.session_id)
        if self.is_bound and action not in BOUND_ACTIONS:
            return False
        if Scope.ADMINISTER in self.scopes or action in READ_SCOPE_ACTIONS:
            # A key must not make keys: it would outlive itself, and escape its scopes.
            return action is not Action.KEYS_OWN or is_session or Scope.ADMINISTER in self.scopes
        return action is Action.REPOSITORY_INDEX and Scope.INDEX in self.scopes

    def may_on(self, action: Action, repository_id: str) -> bool:
        """Return whether an action on a repository is allowed."""
        return self.may(action) and self.get_level(repository_id) >= ACTION_LEVELS.get(action, Level.READ)

    def get_level(self, repository_id: str) -> Level:
        """Return the level on a repository; `Level.NONE` hides it."""
        return self.repository_levels.get(repository_id, Level.NONE)
