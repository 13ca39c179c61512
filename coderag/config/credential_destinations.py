"""Protection of credentials: a repository's files cannot redirect them to a server of their choice (docs/models.md).

A repository may come from a stranger with its settings. It may choose a server, but credentials and values from the
environment go only to the provider's own address, to this machine, or to an address given by the user.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from coderag.config.file_names import COMMITTED_FILE, LOCAL_FILE
from coderag.config.server_addresses import DEFAULT_ADDRESSES, is_same_server, is_this_machine
from coderag.config.settings_file import SettingsFile
from coderag.config.source_sections import ADDRESS_FIELDS, OWN_HOSTS, RemoteSourceSection
from coderag.errors import ConfigurationError
from coderag.system.git import is_tracked


class _Server(NamedTuple):
    """A settings section with a server address.

    Attributes:
        choice: Setting of the provider; empty if there is no choice, and no default address.
        address: Setting of the address.
        own_addresses: Default address by provider; other providers use no server.
        has_implicit_credentials: Whether its client takes credentials from elsewhere.
    """

    section: str
    choice: str
    address: str
    own_addresses: dict[str, str] = DEFAULT_ADDRESSES
    has_implicit_credentials: bool = False


_SERVERS: Final = (
    _Server("embedding", "provider", "base_url"),
    _Server("llm", "provider", "base_url"),
    _Server("reranker", "provider", "base_url"),
    _Server("graph", "store", "url", {"neo4j": "", "memgraph": ""}),
    _Server(
        "chat", "memory", "url", {"postgres": ""}, has_implicit_credentials=True
    ),  # PGPASSWORD; and conversations are private
    _Server("storage", "", "endpoint", has_implicit_credentials=True),  # AWS_SECRET_ACCESS_KEY
)


def reject_redirected_credentials(
    settings: BaseModel, files: Sequence[SettingsFile], is_given: Callable[[tuple[str, ...]], bool]
) -> None:
    """Reject credentials that would go to a server named only by a file of the repository.

    Args:
        settings: Settings merged from all sources.
        files: Files of the repository, in merging order.
        is_given: Whether a setting is given in the arguments or the environment.

    Raises:
        ConfigurationError: With file, line and setting, and how to approve the server.
    """
    for server in _SERVERS:
        keys = (server.section, server.address)
        file = next((file for file in reversed(files) if keys in file.lines), None)
        if file is None or is_given(keys) or file.is_from_environment(keys):
            continue
        values: BaseModel = getattr(settings, server.section)
        address = getattr(values, server.address)
        own = server.own_addresses.get(getattr(values, server.choice)) if server.choice else ""
        if own is None or not address.strip() or address != file.values[server.section][server.address]:
            continue
        if _is_safe_address(address, own) or not (
            server.has_implicit_credentials or _has_credential(values) or _has_environment_value(files, server)
        ):
            continue
        if _is_from_repository(file):
            raise _format_redirect_error(file, keys)
    for place, section in _iterate_source_addresses(settings):
        file = next((file for file in reversed(files) if place in file.lines), None)
        if file is None or is_given(place) or file.is_from_environment(place):
            continue
        address = getattr(section, place[-1])
        written = str(file.values[place[0]][place[1]][place[2]]).strip().rstrip("/")
        if address and address == written and not is_own_host(address, section) and _is_from_repository(file):
            raise _format_redirect_error(file, place)


def _iterate_source_addresses(settings: BaseModel) -> Iterator[tuple[tuple[str, str, str], RemoteSourceSection]]:
    """Yield the keys of each address to which the credential of a source goes, with the source's section."""
    for name, section in getattr(settings, "sources", {}).items():
        if isinstance(section, RemoteSourceSection):
            yield from ((("sources", name, field), section) for field in ADDRESS_FIELDS if hasattr(section, field))


def is_own_host(address: str, section: RemoteSourceSection) -> bool:
    """Return whether an address is this machine's, or one of the system's operator."""
    parts = urlsplit(address)
    host = (parts.hostname or "").lower()
    is_own = any(host.endswith(own) if own.startswith(".") else host == own for own in OWN_HOSTS[section.system])
    return (is_own and parts.scheme == "https") or is_this_machine(address)


def _is_from_repository(file: SettingsFile) -> bool:
    return file.path.name == COMMITTED_FILE or is_tracked(file.path.parent, [file.path.name])


def _is_safe_address(address: str, own: str) -> bool:
    """Return whether an address is the provider's own or this machine's.

    Queries are refused: some clients read another host from them.
    """
    try:
        return not urlsplit(address).query and (is_same_server(address, own) or is_this_machine(address))
    except ValueError:  # not a URL
        return False


def _has_credential(values: BaseModel) -> bool:
    return any(
        value.get_secret_value().strip() if isinstance(value, SecretStr) else name == "api_key_file" and value.strip()
        for name, value in values
    )


def _has_environment_value(files: Sequence[SettingsFile], server: _Server) -> bool:
    """Return whether any value of the section is from the environment.

    Even a model name or an address is sent to the server.
    """
    return any(keys[0] == server.section for file in files for keys in file.filled_in)


def _format_redirect_error(file: SettingsFile, keys: tuple[str, ...]) -> ConfigurationError:
    name, line = ".".join(keys), file.find_line(keys)
    message = f"{file.path.name}, line {line}: {name}: credentials are not sent to a server that only this file names"
    variable = "" if keys[0] == "sources" else f"set CODERAG_{'__'.join(keys).upper()}"  # a source has no own variable
    if file.path.name == LOCAL_FILE:
        ways = [variable, f"run `git rm --cached {LOCAL_FILE}`"]
        hint = f"git tracks {LOCAL_FILE}. If you trust the server, {', or '.join(filter(None, ways))}."
    else:
        ways = [f"put {name} into {LOCAL_FILE} too", variable]
        hint = f"It came with the repository. If you trust the server, {', or '.join(filter(None, ways))}."
    return ConfigurationError(message, hint=hint)
