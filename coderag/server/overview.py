"""Overview of a server for its operators: counts, versions, and the settings in force without secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from sqlalchemy import func, select

from coderag import __version__
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, AuditEntry, BrowserSession, HostedRepository, Job, Team, User
from coderag.server.storage.upgrade import get_newest_revision, get_revision


@dataclass(frozen=True, slots=True)
class ServerOverview:
    """State of a server.

    Attributes:
        version: Version of CodeRAG.
        database: `sqlite` or `postgresql`.
        revision, newest_revision: Revision of the tables, and the one that this version needs.
        accounts, teams, repositories, keys, sessions: Numbers of them.
        indexed_repositories: Number of repositories with an index.
        queued_jobs, running_jobs, failed_jobs: Numbers of jobs in these states.
        audit_entries: Number of entries of the audit record.
    """

    version: str
    database: str
    revision: str
    newest_revision: str
    accounts: int
    teams: int
    repositories: int
    indexed_repositories: int
    keys: int
    sessions: int
    queued_jobs: int
    running_jobs: int
    failed_jobs: int
    audit_entries: int


def read_overview(database: Database) -> ServerOverview:
    """Read the state of a server from its database.

    Raises:
        DatabaseUnavailableError: The database does not answer.
    """
    states = select(Job.state, func.count()).group_by(Job.state)
    with database.read() as session:
        jobs = {state: int(count) for state, count in session.execute(states)}

        def count(table: type[Any], *conditions: Any) -> int:  # noqa: ANN401  # expressions of SQLAlchemy
            return session.scalar(select(func.count()).select_from(table).where(*conditions)) or 0

        return ServerOverview(
            version=__version__,
            database="sqlite" if database.is_sqlite else "postgresql",
            revision=get_revision(database) or "",
            newest_revision=get_newest_revision(),
            accounts=count(User),
            teams=count(Team),
            repositories=count(HostedRepository),
            indexed_repositories=count(HostedRepository, HostedRepository.indexed_at.is_not(None)),
            keys=count(ApiKey, ApiKey.revoked_at.is_(None)),
            sessions=count(BrowserSession),
            queued_jobs=jobs.get("queued", 0),
            running_jobs=jobs.get("running", 0),
            failed_jobs=jobs.get("failed", 0),
            audit_entries=count(AuditEntry),
        )


def describe_server_settings(settings: ServerSettings) -> dict[str, Any]:
    """Return the settings in force as nested values of JSON; secrets only as whether they are set."""
    return _to_plain(settings)


def _to_plain(section: BaseModel) -> dict[str, Any]:
    return {name: _convert(getattr(section, name)) for name in type(section).model_fields}


def _convert(value: object) -> Any:  # noqa: ANN401  # any JSON value
    if isinstance(value, SecretStr):
        return "set" if value.get_secret_value() else ""
    if isinstance(value, BaseModel):
        return _to_plain(value)
    if isinstance(value, Mapping):
        return {str(key): _convert(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_convert(item) for item in value]
    return str(value) if isinstance(value, Path) else value
