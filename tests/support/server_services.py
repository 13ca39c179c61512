"""Services of a team server over a real database, with small stand-ins for keys and the audit record."""

import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from sqlalchemy import select

from coderag.server.access.principal import Principal
from coderag.server.accounts.service import AccountService
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.credentials import CredentialService
from coderag.server.repositories.host_addresses import IpAddress
from coderag.server.repositories.service import RepositoryService
from coderag.server.sealing import MasterKey
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, AuditEntry
from tests.support.server_accounts import create_database


@dataclass(frozen=True)
class CreatedKey:
    """A key with its secret."""

    key: ApiKey
    secret: str


class SimpleKeys:
    """Keys as rows, without the checks of the real service."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        principal: Principal,
        user_id: str,
        name: str,
        *,
        scopes: Collection[str],
        repository_ids: Collection[str] | None = None,
        expires_at: datetime | None = None,
        kind: str = "key",
    ) -> CreatedKey:
        del principal
        secret = f"cr_{secrets.token_hex(4)}_{secrets.token_hex(16)}"
        key = ApiKey(
            user_id=user_id,
            name=name,
            kind=kind,
            prefix=secret[:11],
            digest="digest",
            scopes=list(scopes),
            repository_ids=None if repository_ids is None else list(repository_ids),
            expires_at=expires_at,
        )
        with self._database.begin() as session:
            session.add(key)
        return CreatedKey(key, secret)

    def create_agent_token(self, principal: Principal, repository_ids: Collection[str]) -> CreatedKey:
        return self.create(
            principal, principal.user_id, "agent", scopes=["read"], repository_ids=repository_ids, kind="agent"
        )

    def list(self, user_id: str) -> list[ApiKey]:
        with self._database.read() as session:
            return list(session.scalars(select(ApiKey).where(ApiKey.user_id == user_id)))

    def revoke(self, caller: Principal, key_id: str) -> None:
        del caller
        with self._database.begin() as session:
            session.get_one(ApiKey, key_id).revoked_at = datetime.now(UTC)


@dataclass(frozen=True)
class SimpleVerdict:
    """Result of a verification."""

    is_intact: bool = True
    count: int = 0
    problem: str = ""


class SimpleAudit:
    """An audit record without a chain."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.verdict = SimpleVerdict()
        self.recorded: list[tuple[str, str, str]] = []

    def record(
        self,
        principal: Principal | None,
        action: str,
        *,
        repository_id: str = "",
        outcome: str = "allowed",
        detail: object = None,
    ) -> None:
        del repository_id, detail
        self.recorded.append((principal.name if principal else "", action, outcome))

    def hash_question(self, text: str) -> str:
        return f"{len(text)} characters"

    def verify(self) -> SimpleVerdict:
        return self.verdict

    def export(self, since: datetime | None, until: datetime | None) -> Iterator[AuditEntry]:
        with self._database.read() as session:
            entries = session.scalars(select(AuditEntry).order_by(AuditEntry.sequence)).all()
        yield from (
            entry
            for entry in entries
            if (since is None or entry.time >= since) and (until is None or entry.time < until)
        )


@dataclass
class ServerWorld:
    """Services as the routes of the administration get them."""

    settings: ServerSettings
    database: Database = field(init=False)

    def __post_init__(self) -> None:
        folder, master_key = self.settings.data, MasterKey(bytes(32))
        self.database = create_database(folder)
        self.accounts = AccountService(self.database)
        self.keys = SimpleKeys(self.database)
        self.audit = SimpleAudit(self.database)
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


def resolve_public(host: str, port: int) -> list[IpAddress]:
    """Resolve every host to a public address."""
    del host, port
    return [ip_address("93.184.216.34")]


def make_world(folder: Path, **settings: object) -> ServerWorld:
    """Make the services of a server in a folder."""
    return ServerWorld(ServerSettings(data=folder, **settings))
