"""Checks of settings of sources that an account of the server gives: they reach nothing of the server itself."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from coderag.config.server_addresses import is_same_server
from coderag.config.source_sections import ADDRESS_FIELDS, SECTIONS_BY_SYSTEM, RemoteSourceSection, SourceSections
from coderag.errors import InvalidValueError
from coderag.server.repositories.git_url import is_allowed_host
from coderag.server.settings import RepositorySettings
from coderag.system.host_addresses import HostResolver, find_addresses, is_public

FILE_FIELDS: Final = frozenset({"credential_file", "certificate_file"})
"""Settings that name files of the machine that synchronises."""

_TRANSPORT_FIELDS: Final = frozenset({"token", "timeout_s", "deletions_hours"})
"""Settings of how a source is read, which select no items."""

_SECTIONS: Final[TypeAdapter[SourceSections]] = TypeAdapter(SourceSections)
_HTTPS_PORT: Final = 443


def parse_section(name: str, values: Mapping[str, Any]) -> RemoteSourceSection:
    """Parse the settings of a source on a server.

    Args:
        name: Name of the source.
        values: Its settings as in ``.coderag.yaml``.

    Raises:
        InvalidValueError: A value is invalid, or names something of the machine that reads it.
    """
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
    if given := sorted(FILE_FIELDS & values.keys()):
        raise InvalidValueError(f"{given[0]}: names a file of the server", hint="Give the token itself.")
    if any("${" in text for text in _list_texts(values)):
        raise InvalidValueError("variables of the server's environment are not read", hint="Give the value.")
    return section


def check_addresses(section: RemoteSourceSection, settings: RepositorySettings, resolve: HostResolver) -> None:
    """Check the addresses to which a source sends its token.

    Args:
        section: Settings of the source.
        settings: Hosts that may have private addresses.
        resolve: Looks up addresses.

    Raises:
        InvalidValueError: An address has no https, or a host whose addresses are not public.
    """
    for field in ADDRESS_FIELDS:
        if address := getattr(section, field, ""):
            _check_address(field, address, settings, resolve)


def has_same_destination(section: RemoteSourceSection, other: RemoteSourceSection) -> bool:
    """Return whether two sources have the same system and send their tokens to the same servers."""
    return section.system == other.system and all(
        is_same_server(getattr(section, field, ""), getattr(other, field, "")) for field in ADDRESS_FIELDS
    )


def has_other_items(section: RemoteSourceSection, other: RemoteSourceSection) -> bool:
    """Return whether two settings of a source may select other items, so that the mirror of one is not that of the other."""
    return section.model_dump(exclude=set(_TRANSPORT_FIELDS)) != other.model_dump(exclude=set(_TRANSPORT_FIELDS))


def _check_address(field: str, address: str, settings: RepositorySettings, resolve: HostResolver) -> None:
    parts = urlsplit(address)
    host = parts.hostname or ""
    if is_allowed_host(host, settings):
        return
    if parts.scheme != "https":
        raise InvalidValueError(f"{field}: needs https", hint="An operator can list the host as allowed.")
    if not all(map(is_public, find_addresses(host, parts.port or _HTTPS_PORT, resolve))):
        message = f"{field}: the host {host} has an address that is not public"
        raise InvalidValueError(message, hint="An operator can list it under repositories.allowed_hosts.")


def _list_texts(values: Mapping[str, Any]) -> list[str]:
    listed = [part for value in values.values() if isinstance(value, list | tuple) for part in value]
    return [text for text in (*values.values(), *listed) if isinstance(text, str)]
