"""Services of a team server over a real database."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from coderag.server.access.principal import Principal
from coderag.server.accounts.service import AccountService
from coderag.server.audit.audit_log import AuditLog
from coderag.server.identity.keys import KeyService
from coderag.server.identity.principals import PrincipalLoader
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.service import RepositoryService
from coderag.server.repositories.sources import SourceService
from coderag.server.sealing import MasterKey
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.system.host_addresses import IpAddress
from tests.support.server_accounts import create_database


@dataclass(frozen=True)
class SimpleQuota:
    """Use of a daily quota."""

    subject: str
    requests: int
    limit: int


class SimpleLimits:
    """Limits that nobody uses up: seven requests of an account, nine of each team."""

    def read_usage(self, principal: Principal) -> list[SimpleQuota]:
        return [SimpleQuota("account", 7, 0), *(SimpleQuota(f"team:{team}", 9, 50) for team in principal.team_ids)]


@dataclass
class ServerWorld:
    """Services as the routes of the administration get them."""

    settings: ServerSettings
    database: Database = field(init=False)

    def __post_init__(self) -> None:
        folder, master_key = self.settings.data, MasterKey(bytes(32))
        self.database = create_database(folder)
        self.accounts = AccountService(self.database)
        self.keys = KeyService(self.database, PrincipalLoader(self.database))
        self.audit = AuditLog(self.database, master_key, self.settings.audit, folder / "audit.counter")
        self.limits = SimpleLimits()
        self.queue = JobQueue(self.database)
        limits = self.settings.repositories
        self.credentials = CredentialService(self.database, master_key, limits, resolve=resolve_public)
        self.repositories = RepositoryService(
            self.database,
            limits,
            folder / "repositories",
            master_key,
            self.queue,
            credentials=self.credentials,
            resolve=resolve_public,
        )
        self.sources = SourceService(self.database, master_key, limits, self.queue, resolve=resolve_public)


def resolve_public(host: str, port: int) -> list[IpAddress]:
    """Resolve every host to a public address."""
    del host, port
    return [ip_address("93.184.216.34")]


def make_world(folder: Path, **settings: object) -> ServerWorld:
    """Make the services of a server in a folder."""
    return ServerWorld(ServerSettings(data=folder, **settings))
