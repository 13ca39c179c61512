"""A team server's database, queue and repositories in a folder, without its HTTP interface."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.service import OpenCheckouts, RepositoryService
from coderag.server.sealing import MasterKey
from coderag.server.settings import RepositorySettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, ServerTable, Team

LOOPBACK = RepositorySettings(allowed_hosts=("127.0.0.1", "git.test"), schemes=("https", "ssh", "http"))
"""Settings for git servers on the loopback."""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> None:
        self.now += timedelta(**duration)


def resolve_to(*addresses: str) -> Callable[[str, int], list[object]]:
    """Return a resolver that gives every host the same addresses."""
    return lambda host, port: [ip_address(address) for address in addresses]


@dataclass
class ServerWorld:
    """Parts of a server that belong together."""

    folder: Path
    url: str = ""
    settings: RepositorySettings = LOOPBACK
    clock: Clock | None = field(default_factory=Clock)
    lease_s: float = 60.0
    max_attempts: int = 5
    open_checkouts: OpenCheckouts | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.database = Database(self.url or f"sqlite:///{self.folder / 'server.sqlite'}")
        ServerTable.metadata.create_all(self.database.engine)
        self.master_key = MasterKey(b"k" * 32)
        clock = {} if self.clock is None else {"clock": self.clock}
        resolve = resolve_to("127.0.0.1")
        self.queue = JobQueue(self.database, lease_s=self.lease_s, max_attempts=self.max_attempts, **clock)
        self.credentials = CredentialService(self.database, self.master_key, self.settings, resolve=resolve, **clock)
        self.repositories = RepositoryService(
            self.database,
            self.settings,
            self.folder / "repositories",
            self.master_key,
            self.queue,
            credentials=self.credentials,
            open_checkouts=self.open_checkouts,
            resolve=resolve,
            **clock,
        )

    def add_team(self, name: str) -> str:
        with self.database.begin() as session:
            team = Team(name=name)
            session.add(team)
        return team.id

    def add_repository(self, name: str, team_id: str | None = None) -> str:
        """Add a record without a job."""
        with self.database.begin() as session:
            repository = HostedRepository(name=name, url=f"https://git.test/{name}", team_id=team_id)
            session.add(repository)
        return repository.id

    def close(self) -> None:
        self.database.close()
