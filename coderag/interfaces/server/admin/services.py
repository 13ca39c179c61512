"""Services that the administration works with, and the dependencies that hand them to its routes."""

from collections.abc import Sequence
from typing import Annotated, Protocol, cast

from fastapi import Depends, Request

from coderag.errors import AuthenticationError
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY
from coderag.server.access.principal import Principal
from coderag.server.accounts.service import AccountService
from coderag.server.audit.audit_log import AuditLog
from coderag.server.identity.keys import KeyService
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.service import RepositoryService
from coderag.server.repositories.sources import SourceService
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database


class DailyQuota(Protocol):
    """Use of a daily quota, of `coderag.server.limits`."""

    @property
    def subject(self) -> str:
        """``account``, or ``team`` with its id behind a colon."""
        ...

    @property
    def requests(self) -> int:
        """Requests today (UTC)."""
        ...

    @property
    def limit(self) -> int:
        """Requests that it may send a day; 0 is no limit."""
        ...


class QuotaReader(Protocol):
    """Reader of daily quotas, of `coderag.server.limits`."""

    def read_usage(self, principal: Principal) -> Sequence[DailyQuota]:
        """Return the use of the daily quotas of an account and its teams."""
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
    def keys(self) -> KeyService:
        """API keys."""
        ...

    @property
    def audit(self) -> AuditLog:
        """Audit record."""
        ...

    @property
    def limits(self) -> QuotaReader:
        """Rates and quotas."""
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
    def sources(self) -> SourceService:
        """Documentation and backlog systems of repositories."""
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
