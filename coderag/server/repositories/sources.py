"""Documentation and backlog systems of hosted repositories, whose settings and credentials the server keeps."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.orm import Session

from coderag.config.source_sections import SECTIONS_BY_SYSTEM, RemoteSourceSection
from coderag.engine.items.configured_sources import get_source_kind
from coderag.errors import InvalidValueError, UnknownNameError
from coderag.schema.mirrored_items import SourceRun
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.source_checks import (
    check_addresses,
    has_other_items,
    has_same_destination,
    parse_section,
)
from coderag.server.sealing import MasterKey
from coderag.server.settings import RepositorySettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import Job, RepositorySource
from coderag.system.host_addresses import HostResolver, resolve_host

MAX_SOURCES: Final = 50
"""Maximum sources of one repository."""

_TOKEN: Final = "token"  # noqa: S105  # the name of a setting
_ENDED_OUTCOMES: Final = ("complete", "incomplete")


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """Settings of a source as they were read.

    Attributes:
        values: The settings, with secrets.
        sealed: Their sealed form; None for a source that has none on the server.
        needs_reset: Whether the mirror has items of other settings.
    """

    values: Mapping[str, Any]
    sealed: bytes | None
    needs_reset: bool = False


class SourceService:
    """Sources of hosted repositories. Thread-safe.

    Args:
        database: The database.
        master_key: Key that seals settings.
        settings: Hosts that may have private addresses.
        queue: Queue of the jobs that synchronise sources.
        resolve: Looks up addresses.
        clock: Returns the current time.
    """

    def __init__(
        self,
        database: Database,
        master_key: MasterKey,
        settings: RepositorySettings,
        queue: JobQueue,
        *,
        resolve: HostResolver = resolve_host,
        clock: Callable[[], datetime] = get_time,
    ) -> None:
        self._database = database
        self._master_key = master_key
        self._settings = settings
        self._queue = queue
        self._resolve = resolve
        self._clock = clock

    def put(self, repository_id: str, name: str, values: Mapping[str, Any]) -> RepositorySource:
        """Store the settings of a source, replacing those that it has, and queue a job that synchronises it.

        Args:
            repository_id: Id of the repository.
            name: Name of the source.
            values: Its settings as in ``.coderag.yaml``, with the token itself. Without one, the stored token stays; it is
                never sent to another server than before.

        Raises:
            InvalidValueError: A value is invalid, names a file of the server, or an address that may not be used.
            UnknownNameError: There is no such repository.
        """
        stored = self._read(repository_id).get(name, StoredSettings({}, None))
        keeps_token = not values.get(_TOKEN)
        merged = {**values, _TOKEN: stored.values.get(_TOKEN)} if keeps_token else dict(values)
        if not merged[_TOKEN]:
            raise InvalidValueError("token: is missing", hint="A new source needs its token.")
        section, previous = parse_section(name, merged), _parse_stored(name, stored)
        if keeps_token and (previous is None or not has_same_destination(section, previous)):
            message = "the stored token is not sent to another server"
            raise InvalidValueError(message, hint="Give the token of the new address.")
        check_addresses(section, self._settings, self._resolve)
        sealed = self._master_key.seal(json.dumps(merged))
        with self._database.begin() as session:
            self._queue.submit(repository_id, "manual", session=session)  # it holds the row of the repository, too
            sources = {source.name: source for source in _select(session, repository_id)}
            if name not in sources and len(sources) >= MAX_SOURCES:
                raise InvalidValueError(f"a repository has at most {MAX_SOURCES} sources", hint="Remove one.")
            source = sources.get(name) or RepositorySource(repository_id=repository_id, name=name, kind="")
            if keeps_token and source.sealed_settings != stored.sealed:
                raise InvalidValueError("the source was changed at the same time", hint="Look at it, and try again.")
            if previous is None or has_other_items(section, previous):
                source.needs_reset, source.synced_at, source.error = True, None, ""
            source.kind = get_source_kind(section)
            source.sealed_settings = sealed
            session.add(source)
        return source

    def remove(self, repository_id: str, name: str) -> None:
        """Remove a source with its grants, and queue a job that removes its items.

        Raises:
            UnknownNameError: There is no such source with settings on the server.
        """
        with self._database.begin() as session:
            source = _find(session, repository_id, name)
            if source.sealed_settings is None:
                raise _make_unknown_error()
            self._queue.submit(repository_id, "manual", session=session)
            session.delete(source)

    def submit(self, repository_id: str, name: str, *, full: bool = False) -> Job:
        """Queue a job that synchronises a source, with the others of its repository, or join the one that is queued.

        Args:
            repository_id: Id of the repository.
            name: Name of the source.
            full: Remove its items first, and read all of them again.

        Raises:
            UnknownNameError: There is no such source.
        """
        with self._database.begin() as session:
            source = _find(session, repository_id, name)
            source.needs_reset = source.needs_reset or full
            return self._queue.submit(repository_id, "manual", session=session)

    def describe(self, source: RepositorySource) -> dict[str, Any]:
        """Return the settings of a source without its secrets; empty if they are in the repository."""
        values = self._open(source).values
        if not values:
            return {}
        fields = SECTIONS_BY_SYSTEM[values["system"]].model_fields
        return {name: value for name, value in values.items() if fields[name].annotation is not SecretStr}

    def load_settings(self, checkout: Path) -> dict[str, Any]:
        """Return the settings of a repository's sources by their names, with secrets, for its engine.

        Args:
            checkout: Checkout of the repository, in the folder that its id names.
        """
        stored = self._read(checkout.parent.name)
        return {name: dict(source.values) for name, source in stored.items() if source.sealed is not None}

    def list_resets(self, checkout: Path) -> dict[str, StoredSettings]:
        """Return the sources of a repository whose mirror has to be removed before they are synchronised, by name."""
        stored = self._read(checkout.parent.name)
        return {name: source for name, source in stored.items() if source.needs_reset}

    def note_resets(self, checkout: Path, resets: Mapping[str, StoredSettings]) -> None:
        """Note that mirrors were removed; a source whose settings were changed since `list_resets` still needs it."""
        with self._database.begin() as session:
            for source in _select(session, checkout.parent.name):
                if source.name in resets and source.sealed_settings == resets[source.name].sealed:
                    source.needs_reset = False

    def note_runs(self, checkout: Path, runs: Sequence[SourceRun], items: Mapping[str, int]) -> None:
        """Note how the sources of a repository were synchronised.

        Args:
            checkout: Checkout of the repository.
            runs: Their runs.
            items: Number of mirrored items of each source.
        """
        by_name = {run.source: run for run in runs}
        with self._database.begin() as session:
            for source in _select(session, checkout.parent.name):
                run = by_name.get(source.name)
                if run is None:
                    continue
                source.items, source.error = items.get(source.name, 0), run.message
                if run.outcome in _ENDED_OUTCOMES:
                    source.synced_at = self._clock()

    def _read(self, repository_id: str) -> dict[str, StoredSettings]:
        with self._database.read() as session:
            return {source.name: self._open(source) for source in _select(session, repository_id)}

    def _open(self, source: RepositorySource) -> StoredSettings:
        sealed = source.sealed_settings
        return StoredSettings(json.loads(self._master_key.open(sealed)) if sealed else {}, sealed, source.needs_reset)


def _parse_stored(name: str, stored: StoredSettings) -> RemoteSourceSection | None:
    """Parse settings; None if there are none, or if they are not valid any more."""
    try:
        return parse_section(name, stored.values) if stored.values else None
    except InvalidValueError:
        return None


def _find(session: Session, repository_id: str, name: str) -> RepositorySource:
    source = next((entry for entry in _select(session, repository_id) if entry.name == name), None)
    if source is None:
        raise _make_unknown_error()
    return source


def _make_unknown_error() -> UnknownNameError:
    return UnknownNameError("unknown source", hint="GET /api/v1/server/repositories/{id}/sources lists them.")


def _select(session: Session, repository_id: str) -> list[RepositorySource]:
    statement = select(RepositorySource).where(RepositorySource.repository_id == repository_id)
    return list(session.scalars(statement.order_by(RepositorySource.name)))
