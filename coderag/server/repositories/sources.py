"""Documentation and backlog systems of hosted repositories, whose settings and credentials the server keeps."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr, TypeAdapter, ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from coderag.config.source_sections import ADDRESS_FIELDS, SECTIONS_BY_SYSTEM, RemoteSourceSection, SourceSections
from coderag.engine.items.configured_sources import get_source_kind
from coderag.errors import InvalidValueError, UnknownNameError
from coderag.server.repositories.git_url import is_allowed_host
from coderag.server.sealing import MasterKey
from coderag.server.settings import RepositorySettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, RepositorySource
from coderag.system.host_addresses import HostResolver, find_addresses, is_public, resolve_host

MAX_SOURCES: Final = 50
"""Maximum sources of one repository."""

_FILE_FIELDS: Final = frozenset({"credential_file", "certificate_file"})
_SECTIONS: Final[TypeAdapter[SourceSections]] = TypeAdapter(SourceSections)
_HTTPS_PORT: Final = 443


class SourceService:
    """Sources of hosted repositories. Thread-safe.

    Args:
        database: The database.
        master_key: Key that seals settings.
        settings: Hosts that may have private addresses.
        resolve: Looks up addresses.
        clock: Returns the current time.
    """

    def __init__(
        self,
        database: Database,
        master_key: MasterKey,
        settings: RepositorySettings,
        *,
        resolve: HostResolver = resolve_host,
        clock: Callable[[], datetime] = get_time,
    ) -> None:
        self._database = database
        self._master_key = master_key
        self._settings = settings
        self._resolve = resolve
        self._clock = clock

    def put(self, repository_id: str, name: str, values: Mapping[str, Any]) -> RepositorySource:
        """Store the settings of a source, replacing those that it has.

        Args:
            repository_id: Id of the repository.
            name: Name of the source.
            values: Its settings as in ``.coderag.yaml``, with the token itself.

        Raises:
            InvalidValueError: A value is invalid, names a file of the server, or an address that may not be used.
            UnknownNameError: There is no such repository.
        """
        section = self._check(name, values)
        sealed = self._master_key.seal(json.dumps(dict(values)))
        with self._database.begin() as session:
            if session.get(HostedRepository, repository_id) is None:
                raise UnknownNameError("unknown repository", hint="GET /api/v1/server/repositories lists them.")
            sources = {source.name: source for source in _select(session, repository_id)}
            if name not in sources and len(sources) >= MAX_SOURCES:
                raise InvalidValueError(f"a repository has at most {MAX_SOURCES} sources", hint="Remove one.")
            source = sources.get(name) or RepositorySource(repository_id=repository_id, name=name, kind="")
            source.kind = get_source_kind(section)
            source.sealed_settings = sealed
            session.add(source)
        return source

    def remove(self, repository_id: str, name: str) -> None:
        """Remove a source with its grants. The next job removes its items.

        Raises:
            UnknownNameError: There is no such source with settings on the server.
        """
        with self._database.begin() as session:
            source = next((entry for entry in _select(session, repository_id) if entry.name == name), None)
            if source is None or source.sealed_settings is None:
                raise UnknownNameError(
                    "unknown source", hint="GET /api/v1/server/repositories/{id}/sources lists them."
                )
            session.delete(source)

    def describe(self, source: RepositorySource) -> dict[str, Any]:
        """Return the settings of a source without its secrets; empty if they are in the repository."""
        if source.sealed_settings is None:
            return {}
        values: dict[str, Any] = json.loads(self._master_key.open(source.sealed_settings))
        section = _SECTIONS.validate_python({source.name: values})[source.name]
        return {field: value for field, value in values.items() if not isinstance(getattr(section, field), SecretStr)}

    def load_settings(self, checkout: Path) -> dict[str, Any]:
        """Return the settings of a repository's sources by their names, with secrets, for its engine.

        Args:
            checkout: Checkout of the repository, in the folder that its id names.
        """
        with self._database.read() as session:
            return {
                source.name: json.loads(self._master_key.open(source.sealed_settings))
                for source in _select(session, checkout.parent.name)
                if source.sealed_settings is not None
            }

    def note_synchronized(self, checkout: Path) -> None:
        """Note that the sources of a repository were synchronised now."""
        with self._database.begin() as session:
            for source in _select(session, checkout.parent.name):
                source.synced_at = self._clock()

    def _check(self, name: str, values: Mapping[str, Any]) -> RemoteSourceSection:
        known = SECTIONS_BY_SYSTEM.get(str(values.get("system")))
        if known is not None and not issubclass(known, RemoteSourceSection):
            message = f"the system {values['system']} reads files of this machine"
            raise InvalidValueError(message, hint="Put documents into the repository, or name another system.")
        try:
            section = _SECTIONS.validate_python({name: dict(values)})[name]
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(str(part) for part in first["loc"][1:]) or name
            raise InvalidValueError(f"{place}: {first['msg']}", hint="See docs/sources.md for the settings.") from None
        assert isinstance(section, RemoteSourceSection)
        if given := sorted(_FILE_FIELDS & values.keys()):
            raise InvalidValueError(f"{given[0]}: names a file of the server", hint="Give the token itself.")
        if any("${" in value for value in values.values() if isinstance(value, str)):
            raise InvalidValueError("variables of the server's environment are not read", hint="Give the value.")
        for field in ADDRESS_FIELDS:
            if address := getattr(section, field, ""):
                self._check_address(field, address)
        return section

    def _check_address(self, field: str, address: str) -> None:
        parts = urlsplit(address)
        host = parts.hostname or ""
        if is_allowed_host(host, self._settings):
            return
        if parts.scheme != "https":
            raise InvalidValueError(f"{field}: needs https", hint="An operator can list the host as allowed.")
        if not all(map(is_public, find_addresses(host, parts.port or _HTTPS_PORT, self._resolve))):
            message = f"{field}: the host {host} has an address that is not public"
            raise InvalidValueError(message, hint="An operator can list it under repositories.allowed_hosts.")


def _select(session: Session, repository_id: str) -> list[RepositorySource]:
    statement = select(RepositorySource).where(RepositorySource.repository_id == repository_id)
    return list(session.scalars(statement.order_by(RepositorySource.name)))
