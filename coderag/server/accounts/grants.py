"""Grants of teams on repositories and on their sources."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, delete, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from coderag.errors import InvalidValueError, PermissionDeniedError
from coderag.schema.item_search import ItemScope
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Level
from coderag.server.accounts.rules import make_unknown_error, require_action
from coderag.server.accounts.teams import get_team
from coderag.server.storage.database import Database
from coderag.server.storage.models import Grant, HostedRepository, RepositorySource, Team

MAX_LISTED_GRANTS: Final = 5_000


@dataclass(frozen=True, slots=True)
class GrantSummary:
    """A grant with the names of its subjects.

    Attributes:
        team_id, team: Id and name of the team.
        repository_id, repository: Id and name of the repository; that of the source for a grant on a source.
        source_id, source: Id and name of the source; None for a grant on the repository.
        level: Level that the team has.
    """

    id: str
    team_id: str
    team: str
    repository_id: str
    repository: str
    source_id: str | None
    source: str | None
    level: Level


class GrantService:
    """Grants. Methods take the acting principal first and check its rights.

    An actor sees and changes only grants on repositories that it may see, or administer.

    Args:
        database: Database of the server.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def set_level(
        self,
        actor: Principal,
        team_id: str,
        level: Level,
        *,
        repository_id: str | None = None,
        source_id: str | None = None,
    ) -> GrantSummary:
        """Set the level of a team on a repository or a source.

        As soon as a source has a grant, only teams with a grant on it see it.

        Raises:
            InvalidValueError: Not exactly one of repository and source is given, or the level is none.
            PermissionDeniedError: The actor may not.
            UnknownNameError: There is no such team, repository or source.
        """
        require_action(actor, Action.TEAMS_MANAGE)
        if (repository_id is None) == (source_id is None):
            raise InvalidValueError("name either a repository or a source", hint="Give exactly one of the two.")
        if level is Level.NONE:
            message = "a grant cannot have the level none"
            raise InvalidValueError(message, hint="Remove the grant, or give read, index or administer.")
        try:
            return self._set(actor, team_id, level, repository_id, source_id)
        except IntegrityError:  # another request has just set it, or removed what it refers to
            return self._set(actor, team_id, level, repository_id, source_id)

    def _set(
        self, actor: Principal, team_id: str, level: Level, repository_id: str | None, source_id: str | None
    ) -> GrantSummary:
        with self._database.begin() as session:
            get_team(session, team_id)
            source = session.get(RepositorySource, source_id) if source_id is not None else None
            if source_id is not None and source is None:
                raise make_unknown_error("source", source_id)
            _require_administration(session, actor, source.repository_id if source else repository_id or "", source_id)
            existing = select(Grant).where(
                Grant.team_id == team_id, Grant.repository_id == repository_id, Grant.source_id == source_id
            )
            grant = session.scalar(existing.with_for_update())
            if grant is None:
                grant = Grant(team_id=team_id, repository_id=repository_id, source_id=source_id, level=level)
                session.add(grant)
            grant.level = level
            session.flush()
            return _read_summaries(session, Grant.id == grant.id)[0]

    def remove(self, actor: Principal, team_id: str, grant_id: str) -> None:
        """Remove a grant of a team.

        Raises:
            PermissionDeniedError: The actor may not.
            UnknownNameError: The team has no such grant, or the actor may not see its repository.
        """
        require_action(actor, Action.TEAMS_MANAGE)
        with self._database.begin() as session:
            summaries = _read_summaries(session, Grant.id == grant_id, Grant.team_id == team_id)
            if not summaries or actor.get_level(summaries[0].repository_id) is Level.NONE:
                raise make_unknown_error("grant", grant_id)
            _require_administration(session, actor, summaries[0].repository_id, None)
            session.execute(delete(Grant).where(Grant.id == grant_id))

    def list_grants(self, actor: Principal, *, team_id: str = "", repository_id: str = "") -> list[GrantSummary]:
        """List grants on the repositories that the actor may see, by team, repository and source.

        Args:
            actor: The acting principal.
            team_id: Only those of this team.
            repository_id: Only those on this repository and its sources.

        Raises:
            PermissionDeniedError: The actor may not.
        """
        require_action(actor, Action.USERS_READ)
        conditions: list[ColumnElement[bool]] = [HostedRepository.id.in_(actor.repository_levels)]
        if team_id:
            conditions.append(Grant.team_id == team_id)
        if repository_id:
            conditions.append(HostedRepository.id == repository_id)
        with self._database.read() as session:
            return _read_summaries(session, *conditions)

    def list_sources(self, actor: Principal, repository_id: str) -> list[RepositorySource]:
        """List the sources of a repository that the actor may see, by name.

        Raises:
            UnknownNameError: The actor may not see the repository, or there is none.
        """
        with self._database.read() as session:
            _require_visible(session, actor, repository_id)
            statement = select(RepositorySource).where(RepositorySource.repository_id == repository_id)
            if not actor.sees_all_sources:
                statement = statement.where(RepositorySource.id.in_(actor.source_levels))
            return list(session.scalars(statement.order_by(RepositorySource.name)))

    def find_source(self, actor: Principal, repository_id: str, name: str) -> RepositorySource:
        """Find a source of a repository by its name.

        Raises:
            UnknownNameError: The actor sees no such repository or source.
        """
        for source in self.list_sources(actor, repository_id):
            if source.name == name:
                return source
        raise make_unknown_error("source", name)

    def synchronize_sources(self, repository_id: str, kinds: Mapping[str, ItemScope]) -> None:
        """Store the sources of a repository's own settings, with their kinds by name.

        A source that is gone stays known while it has grants. Otherwise removing and adding it again would lift its limits.
        Sources whose settings are on the server stay, too.
        """
        with self._database.begin() as session:
            known = select(RepositorySource).where(RepositorySource.repository_id == repository_id)
            sources = {source.name: source for source in session.scalars(known)}
            restricted = select(Grant.source_id).join(RepositorySource)
            restricted_ids = set(session.scalars(restricted.where(RepositorySource.repository_id == repository_id)))
            for name, kind in sorted(kinds.items()):
                if name not in sources:
                    session.add(RepositorySource(repository_id=repository_id, name=name, kind=kind))
                elif sources[name].sealed_settings is None:
                    sources[name].kind = kind
            for name, source in sources.items():
                if name not in kinds and source.id not in restricted_ids and source.sealed_settings is None:
                    session.delete(source)


def _require_visible(session: Session, actor: Principal, repository_id: str) -> None:
    if actor.get_level(repository_id) is Level.NONE or session.get(HostedRepository, repository_id) is None:
        raise make_unknown_error("repository", repository_id)


def _require_administration(session: Session, actor: Principal, repository_id: str, source_id: str | None) -> None:
    """Refuse an actor whose key is bound to other repositories: it could widen its own limits."""
    if source_id is not None and actor.get_level(repository_id) is Level.NONE:
        raise make_unknown_error("source", source_id)  # the same reply as for one that does not exist
    _require_visible(session, actor, repository_id)
    if actor.get_level(repository_id) < Level.ADMINISTER:
        message = "grants need the level administer on the repository"
        raise PermissionDeniedError(message, hint="Use a key that is not limited to reading or indexing it.")


def _read_summaries(session: Session, *conditions: ColumnElement[bool]) -> list[GrantSummary]:
    statement = (
        select(Grant, Team.name, HostedRepository.id, HostedRepository.name, RepositorySource.name)
        .join(Team, Grant.team_id == Team.id)
        .outerjoin(RepositorySource, Grant.source_id == RepositorySource.id)
        .join(
            HostedRepository,
            or_(HostedRepository.id == Grant.repository_id, HostedRepository.id == RepositorySource.repository_id),
        )
        .where(*conditions)
        .order_by(Team.name, HostedRepository.name, RepositorySource.name, Grant.id)
        .limit(MAX_LISTED_GRANTS)
    )
    return [
        GrantSummary(
            grant.id, grant.team_id, team, repository_id, repository, grant.source_id, source, Level(grant.level)
        )
        for grant, team, repository_id, repository, source in session.execute(statement)
    ]
