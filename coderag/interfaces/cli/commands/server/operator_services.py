"""Services of a server on this machine, over its database, for its operator."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from coderag.errors import CodeRAGError, UnknownNameError
from coderag.server.access.roles import Action
from coderag.server.accounts.operator import make_operator
from coderag.server.accounts.service import AccountService
from coderag.server.audit.audit_log import AuditLog
from coderag.server.backup import get_counter_path, get_key_path
from coderag.server.identity.keys import KeyService
from coderag.server.identity.principals import PrincipalLoader
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.service import RepositoryService
from coderag.server.repositories.sources import SourceService
from coderag.server.sealing import read_master_key
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, Job
from coderag.server.storage.upgrade import check_revision


class OperatorServices:
    """Services of a server, opened by its operator.

    Args:
        settings: Settings of the server.

    Raises:
        ConfigurationError: The key or the tables cannot be used.
        DatabaseUnavailableError: The database does not answer.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.database = Database(settings.url)
        try:
            check_revision(self.database)
            self._master_key = read_master_key(get_key_path(settings))
            self.operator = make_operator(self.database)
        except CodeRAGError:
            self.close()
            raise
        self.accounts = AccountService(self.database)

    @cached_property
    def audit(self) -> AuditLog:
        """Audit record."""
        return AuditLog(self.database, self._master_key, self.settings.audit, get_counter_path(self.settings))

    @cached_property
    def keys(self) -> KeyService:
        """API keys."""
        return KeyService(self.database, PrincipalLoader(self.database))

    @cached_property
    def queue(self) -> JobQueue:
        """Jobs."""
        return JobQueue(self.database)

    @cached_property
    def credentials(self) -> CredentialService:
        """Credentials of git servers."""
        return CredentialService(self.database, self._master_key, self.settings.repositories)

    @cached_property
    def repositories(self) -> RepositoryService:
        """Repositories."""
        return RepositoryService(
            self.database,
            self.settings.repositories,
            self.settings.repositories_folder,
            self._master_key,
            self.queue,
            credentials=self.credentials,
        )

    @cached_property
    def sources(self) -> SourceService:
        """Documentation and backlog systems of repositories."""
        return SourceService(self.database, self._master_key, self.settings.repositories, self.queue)

    def find_repository(self, reference: str) -> HostedRepository:
        """Find a repository by its name or id.

        Raises:
            UnknownNameError: There is none.
        """
        try:
            return self.repositories.find(reference)
        except UnknownNameError as error:
            message = f"unknown repository {reference[:80]!r}"
            raise UnknownNameError(message, hint="`coderag server repositories list` lists them.") from error

    def find_job(self, job_id: str) -> Job:
        """Find a job by its id.

        Raises:
            UnknownNameError: There is none.
        """
        try:
            return self.queue.get(job_id)
        except UnknownNameError as error:
            message = f"unknown job {job_id[:80]!r}"
            raise UnknownNameError(message, hint="`coderag server jobs list` lists them.") from error

    @contextmanager
    def record(self, action: Action, command: str, *, repository_id: str = "", **detail: str) -> Iterator[None]:
        """Record a command of the operator, then run it within the block; a failure gets an entry of its own.

        Args:
            action: What it does.
            command: Its name below ``coderag server``.
            repository_id: Id of the repository that it is about.
            detail: Further values of the entry, without secrets.

        Raises:
            DatabaseUnavailableError: The entry cannot be written, and nothing is done.
        """
        values = {"command": command, **{name: value for name, value in detail.items() if value}}
        self.audit.record(self.operator, str(action), repository_id=repository_id, detail=values)
        try:
            yield
        except CodeRAGError as error:
            values["error"] = type(error).__name__
            self.audit.record(self.operator, str(action), repository_id=repository_id, outcome="failed", detail=values)
            raise

    def close(self) -> None:
        """Close the connections."""
        self.database.close()
