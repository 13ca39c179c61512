"""A database of the team server with accounts, teams and repositories."""

from pathlib import Path
from typing import Any

from sqlalchemy import event

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role, Scope
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, RepositorySource, ServerTable, User


def create_database(place: Path | str) -> Database:
    """Create all tables in the database of a URL, or in a file in a folder."""
    database = Database(place if isinstance(place, str) else f"sqlite:///{place / 'server.sqlite'}")
    if database.is_sqlite:
        event.listen(database.engine, "connect", _skip_synchronization)
    ServerTable.metadata.create_all(database.engine)
    return database


def _skip_synchronization(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")  # no test here cuts the power


def add_user(database: Database, name: str, role: Role, *, kind: str = "person", is_active: bool = True) -> str:
    """Add an account and return its id."""
    email = f"{name}@example.org" if kind == "person" else None
    user = User(name=name, email=email, role=role, kind=kind, is_active=is_active)
    with database.begin() as session:
        session.add(user)
    return user.id


def add_repository(database: Database, name: str, *sources: str) -> str:
    """Add a repository with sources and return its id."""
    repository = HostedRepository(name=name, url=f"https://git.example.org/{name}.git")
    with database.begin() as session:
        session.add(repository)
        session.flush()
        session.add_all(
            RepositorySource(repository_id=repository.id, name=source, kind="documentation") for source in sources
        )
    return repository.id


def make_principal(
    role: Role,
    user_id: str = "",
    *,
    levels: dict[str, Level] | None = None,
    scopes: frozenset[Scope] = frozenset(Scope),
    source_ids: dict[str, Level] | None = None,
    sees_all_sources: bool = False,
) -> Principal:
    """Make the principal of an account."""
    return Principal(
        user_id or f"{role}-id",
        str(role),
        role,
        credential_id="session-id",
        repository_levels=levels or {},
        source_levels=source_ids or {},
        sees_all_sources=sees_all_sources or role in (Role.OWNER, Role.ADMIN),
        scopes=scopes,
    )
