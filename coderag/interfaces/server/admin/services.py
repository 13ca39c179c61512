"""Services that the administration works with, and the dependencies that hand them to its routes."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Annotated, Protocol, cast

from fastapi import Depends, Request

from coderag.errors import AuthenticationError
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY
from coderag.server.access.principal import Principal
from coderag.server.accounts.service import AccountService
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.service import RepositoryService
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, AuditEntry


class IssuedKey(Protocol):
    """A new key with its secret."""

    @property
    def key(self) -> ApiKey:
        """The key."""
        ...

    @property
    def secret(self) -> str:
        """Its secret, which nothing stores."""
        ...


class KeyIssuer(Protocol):
    """Service of API keys and agent tokens, of `coderag.server.identity`."""

    def create(
        self,
        principal: Principal,
        user_id: str,
        name: str,
        *,
        scopes: Collection[str],
        repository_ids: Collection[str] | None = None,
        expires_at: datetime | None = None,
    ) -> IssuedKey:
        """Create a key of an account."""
        ...

    def create_agent_token(self, principal: Principal, repository_ids: Collection[str]) -> IssuedKey:
        """Create a token for agents."""
        ...

    def list(self, user_id: str) -> list[ApiKey]:
        """List the keys of an account."""
        ...

    def revoke(self, caller: Principal, key_id: str) -> None:
        """Revoke a key."""
        ...


class AuditVerdict(Protocol):
    """Result of a verification."""

    @property
    def is_intact(self) -> bool:
        """True if no entry was changed, removed or added."""
        ...

    @property
    def count(self) -> int:
        """Number of entries."""
        ...

    @property
    def problem(self) -> str:
        """Description of the first damage; empty if there is none."""
        ...


class AuditKeeper(Protocol):
    """The audit record, of `coderag.server.audit`."""

    def verify(self) -> AuditVerdict:
        """Verify the chain of entries."""
        ...

    def export(self, since: datetime | None, until: datetime | None) -> Iterator[AuditEntry]:
        """Yield entries in their order."""
        ...


class AdministrationServices(Protocol):
    """Services of a server, as the routes of its administration see them."""

    @property
    def settings(self) -> ServerSettings:
        """Settings in force."""
        ...

    @property
    def database(self) -> Database:
        """Database."""
        ...

    @property
    def accounts(self) -> AccountService:
        """Accounts, teams and grants."""
        ...

    @property
    def keys(self) -> KeyIssuer:
        """API keys."""
        ...

    @property
    def audit(self) -> AuditKeeper:
        """Audit record."""
        ...

    @property
    def repositories(self) -> RepositoryService:
        """Repositories."""
        ...

    @property
    def credentials(self) -> CredentialService:
        """Credentials of git servers."""
        ...

    @property
    def queue(self) -> JobQueue:
        """Jobs."""
        ...


def get_services(request: Request) -> AdministrationServices:
    """Return the services of a request's app."""
    return cast("AdministrationServices", request.app.state.server)


def get_principal(request: Request) -> Principal:
    """Return the caller of a request.

    Raises:
        AuthenticationError: It has none.
    """
    principal: Principal | None = request.scope.get(PRINCIPAL_KEY)
    if principal is None:
        raise AuthenticationError("sign-in is needed", hint="Send 'Authorization: Bearer KEY', or sign in.")
    return principal


ServicesDependency = Annotated[AdministrationServices, Depends(get_services)]
PrincipalDependency = Annotated[Principal, Depends(get_principal)]
