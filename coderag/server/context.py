"""Everything that a server process works with, built from its settings."""

from dataclasses import dataclass, replace
from typing import Final

from coderag.server.access.catalogue import load_visible
from coderag.server.access.principal import Principal
from coderag.server.access.visible_workspace import VisibleRepository
from coderag.server.accounts.service import AccountService
from coderag.server.audit.audit_log import AuditLog
from coderag.server.hosted_engine import make_engine_opener
from coderag.server.identity.keys import KeyService
from coderag.server.identity.oidc import OidcClient
from coderag.server.identity.principals import PrincipalLoader
from coderag.server.identity.sessions import SessionService
from coderag.server.identity.throttle import SignInThrottle
from coderag.server.indexing import CheckoutIndexer
from coderag.server.jobs.queue import JobQueue
from coderag.server.jobs.scheduler import Scheduler
from coderag.server.jobs.threads import JobThreads
from coderag.server.limits import CallerLimits
from coderag.server.metrics import ServerMetrics
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.service import RepositoryService
from coderag.server.repositories.sources import SourceService
from coderag.server.sealing import KEY_FILE_NAME, MasterKey, read_master_key
from coderag.server.settings import ServerSettings
from coderag.server.source_synchronizer import SourceSynchronizer
from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import check_revision
from coderag.workspace.registry import Registry
from coderag.workspace.workspace import Workspace, WorkspaceOptions

COUNTER_FILE_NAME: Final = "audit.counter"
_REGISTRY_FILE_NAME: Final = "open-repositories.json"

_RELOADABLE_FIELDS: Final = ("public_url", "oidc", "sessions", "audit", "limits")
"""Settings that a running process takes over."""

_RESTART_FIELDS: Final = tuple(name for name in ServerSettings.model_fields if name not in _RELOADABLE_FIELDS)


@dataclass(frozen=True, slots=True)
class ServerContext:
    """Services of a server process.

    Attributes:
        settings: Settings in force.
        database: The database.
        master_key: Key that seals what is secret.
        metrics: Counters of this process.
        audit: Record of who did what.
        limits: Rates and quotas.
        accounts: Accounts, teams and grants.
        loader: Loader of principals.
        keys: API keys and tokens of agents.
        sessions: Sessions of browsers.
        throttle: Slows failed sign-ins.
        oidc: Client of the OpenID Connect provider; None without one.
        queue: Jobs.
        credentials: Credentials of git servers.
        repositories: Hosted repositories.
        sources: Their documentation and backlog systems.
        workspace: Repositories open in this process.
        jobs: Threads that run jobs.
    """

    settings: ServerSettings
    database: Database
    master_key: MasterKey
    metrics: ServerMetrics
    audit: AuditLog
    limits: CallerLimits
    accounts: AccountService
    loader: PrincipalLoader
    keys: KeyService
    sessions: SessionService
    throttle: SignInThrottle
    oidc: OidcClient | None
    queue: JobQueue
    credentials: CredentialService
    repositories: RepositoryService
    sources: SourceService
    workspace: Workspace
    jobs: JobThreads

    def load_visible(self, principal: Principal) -> list[VisibleRepository]:
        """Load the repositories that a principal may see.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        with self.database.read() as session:
            return load_visible(session, principal, self.settings.repositories_folder)

    def with_settings(self, settings: ServerSettings) -> "tuple[ServerContext, list[str]]":
        """Return the services with new settings, as far as a running process can take them, and what it cannot.

        Database, workspace and jobs are shared with this object, which must not be closed.

        Args:
            settings: The new settings.

        Raises:
            ConfigurationError: A setting cannot be used.
        """
        delayed = [name for name in _RESTART_FIELDS if getattr(settings, name) != getattr(self.settings, name)]
        taken = self.settings.model_copy(update={name: getattr(settings, name) for name in _RELOADABLE_FIELDS})
        keys = _make_keys(taken, self.database, self.loader)
        variant = replace(
            self,
            settings=taken,
            audit=_make_audit(taken, self.database, self.master_key, self.metrics),
            limits=CallerLimits(self.database, taken.limits),
            keys=keys,
            sessions=SessionService(self.database, self.loader, taken.sessions, keys=keys),
            oidc=_make_oidc(taken, self.database, self.master_key),
        )
        return variant, delayed

    def close(self) -> None:
        """Put running jobs back, write what is pending, and close everything."""
        self.jobs.close()
        self.limits.close()
        self.workspace.close()
        self.database.close()


def open_server(settings: ServerSettings) -> ServerContext:
    """Open the services of a process.

    Raises:
        ConfigurationError: A setting cannot be used, the master key is missing, or the database has another revision.
        DatabaseUnavailableError: The database does not answer.
    """
    key_path = settings.key_file or settings.data / KEY_FILE_NAME
    master_key = read_master_key(key_path)
    database = Database(settings.url)
    check_revision(database)
    metrics = ServerMetrics(database)
    audit = _make_audit(settings, database, master_key, metrics)
    loader = PrincipalLoader(database)
    keys = _make_keys(settings, database, loader)
    queue = JobQueue(database)
    credentials = CredentialService(database, master_key, settings.repositories)
    folder = settings.repositories_folder
    folder.mkdir(parents=True, exist_ok=True)
    sources = SourceService(database, master_key, settings.repositories, queue)
    workspace = Workspace(
        WorkspaceOptions(
            (folder,),
            settings.repositories.max_open,
            watch=False,
            max_memory_bytes=settings.repositories.max_open_bytes,
        ),
        registry=Registry(settings.data / _REGISTRY_FILE_NAME),
        open_engine=make_engine_opener(sources.load_settings),
    )
    repositories = RepositoryService(
        database, settings.repositories, folder, master_key, queue, credentials=credentials, open_checkouts=workspace
    )
    accounts = AccountService(database)
    indexer = CheckoutIndexer(workspace, SourceSynchronizer(workspace, sources, accounts.grants))
    return ServerContext(
        settings=settings,
        database=database,
        master_key=master_key,
        metrics=metrics,
        audit=audit,
        limits=CallerLimits(database, settings.limits),
        accounts=accounts,
        loader=loader,
        keys=keys,
        sessions=SessionService(database, loader, settings.sessions, keys=keys),
        throttle=SignInThrottle(database),
        oidc=_make_oidc(settings, database, master_key),
        queue=queue,
        credentials=credentials,
        repositories=repositories,
        sources=sources,
        workspace=workspace,
        jobs=JobThreads(
            queue,
            repositories,
            indexer.index,
            scheduler=Scheduler(database, queue, repositories),
            size=settings.repositories.workers,
        ),
    )


def _make_audit(
    settings: ServerSettings, database: Database, master_key: MasterKey, metrics: ServerMetrics
) -> AuditLog:
    counter = settings.audit.counter_file or settings.data / COUNTER_FILE_NAME
    return AuditLog(database, master_key, settings.audit, counter, observer=metrics)


def _make_keys(settings: ServerSettings, database: Database, loader: PrincipalLoader) -> KeyService:
    return KeyService(database, loader, agent_token_minutes=settings.sessions.agent_token_minutes)


def _make_oidc(settings: ServerSettings, database: Database, master_key: MasterKey) -> OidcClient | None:
    if not settings.oidc.issuer:
        return None
    return OidcClient(settings.oidc, settings.public_url, database, master_key)
